/* SPDX-License-Identifier: Apache-2.0 */
/* One core: a fork is a call. */
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
