/* SPDX-License-Identifier: Apache-2.0 */
/* One core, without a cache. A port that uses it adds copies and tilewright_cycles. */
#include <tilewright/port.h>

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
