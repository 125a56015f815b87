/* SPDX-License-Identifier: Apache-2.0 */
/* The port for programs that run on the machine that builds them. */
#define _POSIX_C_SOURCE 199309L
#include <tilewright/port.h>

#include <time.h>

#define NANOSECONDS 1000000000u

uint32_t tilewright_cycles(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        return 0;
    }
    return (uint32_t)now.tv_sec * NANOSECONDS + (uint32_t)now.tv_nsec;
}
