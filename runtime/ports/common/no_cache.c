/* SPDX-License-Identifier: Apache-2.0 */
/* No cache to maintain, and nothing to do while a core waits; a program may define tilewright_idle.
 */
#include <tilewright/port.h>

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
