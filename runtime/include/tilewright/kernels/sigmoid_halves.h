/* SPDX-License-Identifier: Apache-2.0 */
/* Logistic and tanh of int16 from a table of the logistic function at multiples of 1/24, as
 * uint16[256] in units of 2^-16. */
#ifndef TILEWRIGHT_KERNELS_SIGMOID_HALVES_H
#define TILEWRIGHT_KERNELS_SIGMOID_HALVES_H

#include "tilewright/kernels/basics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* logistic(scaled / 3 / 2^12) as Q0.15. */
static inline int32_t tilewright_logistic_halves(const uint16_t *table, int32_t scaled)
{
    const uint32_t size = (uint32_t)(scaled < 0 ? -scaled : scaled);
    const uint32_t at = size >> 9;
    uint32_t result = 0x7fffu << 10;
    if (at < 255) {
        const uint32_t below = table[at];
        result = (below << 9) + (size & 0x1ffu) * (table[at + 1] - below);
    }
    result = scaled >= 0 ? result + (1u << 9) : (1u << 25) - result + (1u << 9) - 1u;
    return (int32_t)(result >> 10);
}

/* tanh(scaled / 3 / 2^12) as Q0.15. */
static inline int32_t tilewright_tanh_halves(const uint16_t *table, int32_t scaled)
{
    const uint32_t size = (uint32_t)(scaled < 0 ? -scaled : scaled);
    const uint32_t at = size >> 8;
    int32_t result = 0xffff << 8;
    if (at < 255) {
        const uint32_t below = table[at];
        result = (int32_t)((below << 8) + (size & 0xffu) * (table[at + 1] - below));
    }
    result = scaled >= 0 ? result - (1 << 23) + (1 << 7) : -result + (1 << 23) + (1 << 7) - 1;
    return result >> 8;
}

#ifdef __cplusplus
}
#endif

#endif
