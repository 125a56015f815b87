/* SPDX-License-Identifier: Apache-2.0 */
/* A core writes behind the cluster's memory: the simulator finds nobody there and never answers. */
#include <stdint.h>
#include <stdio.h>
#include <tilewright/port.h>

static void work(void *argument)
{
    (void)argument;
    *(volatile uint32_t *)0x10010000u = 1u;
}

int main(void)
{
    puts("begun");
    tilewright_fork(1u, work, 0);
    puts("ended");
    return 0;
}
