/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of programs that try kernels; the same ones in each run. */
#ifndef RANDOM_WORK_H
#define RANDOM_WORK_H

#include <stdint.h>

static uint32_t state = 1;

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* From low to high, both included. */
static int32_t between(int32_t low, int32_t high)
{
    return low + (int32_t)(next() % (uint32_t)(high - low + 1));
}

#endif
