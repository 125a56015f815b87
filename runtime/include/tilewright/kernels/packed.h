/* SPDX-License-Identifier: Apache-2.0 */
/* Words of two pixels: the first pixel's element plus the second pixel's element times 2^16. Only
 * for kernels. */
#ifndef TILEWRIGHT_KERNELS_PACKED_H
#define TILEWRIGHT_KERNELS_PACKED_H

#include "tilewright/kernels/basics.h"
#include "tilewright/kernels/declarations.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define TILEWRIGHT_UNROLL_16 _Pragma("GCC unroll 16")
#else
#define TILEWRIGHT_UNROLL_16
#endif

/* Hides a register's value from the compiler, so that a constant stays in the register. */
#if defined(__arm__) && defined(__GNUC__)
#define TILEWRIGHT_HIDE(value) __asm__("" : "+r"(value))
#else
#define TILEWRIGHT_HIDE(value)
#endif

/* The word of two int8 elements. */
TILEWRIGHT_INLINE uint32_t tilewright_pair(int32_t first, int32_t second)
{
    return (uint32_t)first + ((uint32_t)second << 16);
}

#ifdef __cplusplus
}
#endif

#endif
