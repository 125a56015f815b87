/* SPDX-License-Identifier: Apache-2.0 */
/* One core of eight never comes to the end. */
#include <stdint.h>
#include <stdio.h>
#include <tilewright/port.h>

static void work(void *argument)
{
    (void)argument;
    for (volatile uint32_t turns = 0; tilewright_core_id() == 5u; turns++) {
    }
}

int main(void)
{
    puts("begun");
    tilewright_fork(8u, work, 0);
    puts("ended");
    return 0;
}
