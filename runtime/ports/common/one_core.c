/* SPDX-License-Identifier: Apache-2.0 */
/* The port of one core without DMA: copies by the core itself, complete when they have been
 * started. A port that uses it adds tilewright_cycles. */
#include <tilewright/copy_lines.h>
#include <tilewright/port.h>

tilewright_token_t tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                         tilewright_address_t source, uint32_t lines,
                                         uint32_t line_bytes, int32_t destination_stride,
                                         int32_t source_stride)
{
    (void)link;
    tilewright_copy_lines(destination, source, lines, line_bytes, destination_stride,
                          source_stride);
    return TILEWRIGHT_NO_COPY + 1u;
}

enum tilewright_port_status tilewright_copy_wait(uint32_t link, tilewright_token_t token)
{
    (void)link;
    (void)token;
    return TILEWRIGHT_PORT_OK;
}

void tilewright_fork(uint32_t cores, void (*work)(void *argument), void *argument)
{
    (void)cores;
    work(argument);
}

void tilewright_barrier(void)
{
}

uint32_t tilewright_core_id(void)
{
    return 0;
}

void tilewright_cache_clean(tilewright_address_t address, uint32_t size_bytes)
{
    (void)address;
    (void)size_bytes;
}

void tilewright_cache_invalidate(tilewright_address_t address, uint32_t size_bytes)
{
    (void)address;
    (void)size_bytes;
}

__attribute__((weak)) void tilewright_idle(void)
{
}
