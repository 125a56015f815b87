/* SPDX-License-Identifier: Apache-2.0 */
/* A port whose cores work one after the other, the last one first if the environment
 * has BACKWARD. */
#include <stdlib.h>
#include <tilewright/copy_lines.h>
#include <tilewright/port.h>

static uint32_t core;

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
    for (uint32_t i = 0; i < cores; i++) {
        core = getenv("BACKWARD") != NULL ? cores - 1u - i : i;
        work(argument);
    }
    core = 0;
}

void tilewright_barrier(void)
{
}

uint32_t tilewright_core_id(void)
{
    return core;
}

uint32_t tilewright_cycles(void)
{
    return 0;
}

void tilewright_idle(void)
{
}
