/* SPDX-License-Identifier: Apache-2.0 */
/* One core of eight meets an instruction that there is not. */
#include <stdint.h>
#include <stdio.h>
#include <tilewright/port.h>

static void work(void *argument)
{
    (void)argument;
    if (tilewright_core_id() == 3u) {
        __asm__ volatile(".word 0");
    }
}

int main(void)
{
    puts("begun");
    tilewright_fork(8u, work, 0);
    puts("ended");
    return 0;
}
