/* SPDX-License-Identifier: Apache-2.0 */
/* The DSP instructions of Armv7E-M and Armv8-M that kernels use, and the same in C. Only for
 * kernels. */
#ifndef TILEWRIGHT_KERNELS_DSP_H
#define TILEWRIGHT_KERNELS_DSP_H

#include "tilewright/kernels/basics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Four bytes from any address, as such cores load them. */
TILEWRIGHT_INLINE uint32_t tilewright_dsp_load(const uint8_t *from)
{
#if defined(__ARM_FEATURE_DSP)
    uint32_t word;
    __asm__("ldr %0, %1" : "=r"(word) : "m"(*(const tilewright_word *)(const void *)from));
    return word;
#else
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
#endif
}

#if defined(__ARM_FEATURE_DSP)
/* Stores four bytes at any address. */
TILEWRIGHT_INLINE void tilewright_dsp_store_word(uint8_t *to, uint32_t word)
{
    __asm__("str %1, %0" : "=m"(*(tilewright_word *)(void *)to) : "r"(word));
}

/* The larger of each pair of bytes. Callers pass a constant for `is_signed`. */
TILEWRIGHT_INLINE uint32_t tilewright_dsp_larger(uint32_t a, uint32_t b, const int is_signed)
{
    uint32_t differences;
    if (is_signed) {
        __asm__("ssub8 %1, %0, %2\n"
                "sel %0, %0, %2"
                : "+r"(a), "=&r"(differences)
                : "r"(b));
    } else {
        __asm__("usub8 %1, %0, %2\n"
                "sel %0, %0, %2"
                : "+r"(a), "=&r"(differences)
                : "r"(b));
    }
    return a;
}
#endif

/* Bytes 0 and 2 as signed halves of a word. */
TILEWRIGHT_INLINE uint32_t tilewright_dsp_even(uint32_t bytes)
{
#if defined(__ARM_FEATURE_DSP)
    uint32_t halves;
    __asm__("sxtb16 %0, %1" : "=r"(halves) : "r"(bytes));
    return halves;
#else
    const int32_t low = (int8_t)bytes, high = (int8_t)(bytes >> 16);
    return ((uint32_t)low & 0xffffu) | (uint32_t)high << 16;
#endif
}

/* Bytes 1 and 3 as signed halves of a word. */
TILEWRIGHT_INLINE uint32_t tilewright_dsp_odd(uint32_t bytes)
{
#if defined(__ARM_FEATURE_DSP)
    uint32_t halves;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(bytes));
    return halves;
#else
    return tilewright_dsp_even(bytes >> 8);
#endif
}

/* sum + the products of the low halves and of the high halves, modulo 2^32. */
TILEWRIGHT_INLINE int32_t tilewright_dsp_dual(uint32_t a, uint32_t b, int32_t sum)
{
#if defined(__ARM_FEATURE_DSP)
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
#else
    const int32_t low = (int16_t)a * (int16_t)b;
    const int32_t high = (int16_t)(a >> 16) * (int16_t)(b >> 16);
    return (int32_t)((uint32_t)sum + (uint32_t)low + (uint32_t)high);
#endif
}

/* sum + the product of the low halves. */
TILEWRIGHT_INLINE int32_t tilewright_dsp_low(uint32_t a, uint32_t b, int32_t sum)
{
#if defined(__ARM_FEATURE_DSP)
    __asm__("smlabb %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
#else
    return sum + (int16_t)a * (int16_t)b;
#endif
}

/* sum + the product of the low half of a and the high half of b. */
TILEWRIGHT_INLINE int32_t tilewright_dsp_low_high(uint32_t a, uint32_t b, int32_t sum)
{
#if defined(__ARM_FEATURE_DSP)
    __asm__("smlabt %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
#else
    return tilewright_dsp_low(a, b >> 16, sum);
#endif
}

/* The upper 32 bits of a * b, + addend. */
TILEWRIGHT_INLINE int32_t tilewright_dsp_upper(int32_t a, int32_t b, int32_t addend)
{
#if defined(__ARM_FEATURE_DSP)
    int32_t high;
    __asm__("smmla %0, %1, %2, %3" : "=r"(high) : "r"(a), "r"(b), "r"(addend));
    return high;
#else
    return (int32_t)((int64_t)a * b >> 32) + addend;
#endif
}

/* The upper 32 bits of a * b, rounded to the nearest integer, halves up. */
TILEWRIGHT_INLINE int32_t tilewright_dsp_upper_rounded(int32_t a, int32_t b)
{
#if defined(__ARM_FEATURE_DSP)
    int32_t high;
    __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
    return high;
#else
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 31)) >> 32);
#endif
}

/* The nearest value of int8. */
TILEWRIGHT_INLINE int32_t tilewright_dsp_saturated(int32_t value)
{
#if defined(__ARM_FEATURE_SAT)
    __asm__("ssat %0, #8, %0" : "+r"(value));
    return value;
#else
    return value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : value;
#endif
}

/* The nearest value of uint8. */
TILEWRIGHT_INLINE int32_t tilewright_dsp_saturated_unsigned(int32_t value)
{
#if defined(__ARM_FEATURE_SAT)
    __asm__("usat %0, #8, %0" : "+r"(value));
    return value;
#else
    return value < 0 ? 0 : value > UINT8_MAX ? UINT8_MAX : value;
#endif
}

#ifdef __cplusplus
}
#endif

#endif
