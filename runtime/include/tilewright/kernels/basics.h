/* SPDX-License-Identifier: Apache-2.0 */
/* Basics for all kernels: compiler attributes, words of memory, the smaller of two numbers.
 * Only for kernels. The options with which GCC compiles kernels are in each model's manifest
 * (docs/reference/cmake.md). */
#ifndef TILEWRIGHT_KERNELS_BASICS_H
#define TILEWRIGHT_KERNELS_BASICS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TILEWRIGHT_INLINE static inline __attribute__((always_inline))
#define TILEWRIGHT_NOINLINE __attribute__((noinline))
/* A function of a header that files call, if they do, and not inline. */
#define TILEWRIGHT_CALLED static __attribute__((noinline, unused))
#define TILEWRIGHT_MAY_ALIAS __attribute__((__may_alias__))
#else
#define TILEWRIGHT_INLINE static inline
#define TILEWRIGHT_NOINLINE
#define TILEWRIGHT_CALLED static inline
#define TILEWRIGHT_MAY_ALIAS
#endif

/* Whether a compiler optimises for size: then loops are not unrolled by hand. */
#if defined(__OPTIMIZE_SIZE__)
enum { TILEWRIGHT_FOR_SIZE = 1 };
#else
enum { TILEWRIGHT_FOR_SIZE = 0 };
#endif

/* Takes what the compiler knows of a register's value from it: what follows from the number of a
 * loop's turns, for one. */
#if defined(__GNUC__)
#define TILEWRIGHT_FORGET(value) __asm__("" : "+r"(value))
#else
#define TILEWRIGHT_FORGET(value)
#endif

/* Loops over four accumulators, or over up to sixteen numbers in registers, must be unrolled, or
 * the compiler keeps the numbers in memory; GCC does not unroll such loops by itself at -O2, clang
 * does. */
#if defined(__GNUC__) && !defined(__clang__)
#define TILEWRIGHT_UNROLL_4 _Pragma("GCC unroll 4")
#define TILEWRIGHT_UNROLL_16 _Pragma("GCC unroll 16")
#else
#define TILEWRIGHT_UNROLL_4
#define TILEWRIGHT_UNROLL_16
#endif

/* Words of 4, 2 and 8 bytes that may hold elements of any type. Without may_alias, a compiler that
 * sees several kernels at once (LTO) could conclude that a load or store of such a word does not
 * touch elements of another type. */
typedef uint32_t TILEWRIGHT_MAY_ALIAS tilewright_word;
typedef uint16_t TILEWRIGHT_MAY_ALIAS tilewright_half_word;
typedef uint64_t TILEWRIGHT_MAY_ALIAS tilewright_double_word;

TILEWRIGHT_INLINE uint32_t tilewright_load_word(const uint8_t *at)
{
    return *(const tilewright_word *)(const void *)at;
}

TILEWRIGHT_INLINE void tilewright_store_word(uint8_t *at, uint32_t word)
{
    *(tilewright_word *)(void *)at = word;
}

TILEWRIGHT_INLINE int32_t tilewright_smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The bits of a float. */
TILEWRIGHT_INLINE uint32_t tilewright_float_word(float x)
{
    const union {
        float number;
        uint32_t word;
    } value = {x};
    return value.word;
}

/* The float of these bits. */
TILEWRIGHT_INLINE float tilewright_float_of(int32_t bits)
{
    const union {
        int32_t word;
        float number;
    } value = {bits};
    return value.number;
}

#ifdef __cplusplus
}
#endif

#endif
