/* SPDX-License-Identifier: Apache-2.0 */
/* Products that are added, on cores whose library functions compute floats. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_SOFT_FLOAT_H
#define TILEWRIGHT_KERNELS_SOFT_FLOAT_H

#include "tilewright/kernels/basics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a number of these bits is neither 0, nor below the normal numbers, infinite or NaN. */
TILEWRIGHT_INLINE int tilewright_is_normal(uint32_t word)
{
    return ((word + 0x800000u) & 0x7f000000u) != 0u;
}

/* The 24 digits of a normal number, of which the first is 1. */
TILEWRIGHT_INLINE uint32_t tilewright_digits_of(uint32_t word)
{
    return (word & 0x7fffffu) | 0x800000u;
}

/* The float nearest to digits * 2^(exponent - 150 - bits), ties to even, without its sign. `digits`
 * are 24 + bits, of which the last is set too where others followed. */
TILEWRIGHT_INLINE uint32_t tilewright_rounded_digits(uint32_t digits, int32_t exponent,
                                                     const int32_t bits)
{
    const uint32_t rest = (1u << bits) - 1u;
    const uint32_t kept = digits >> bits;
    const uint32_t more = ((digits & rest) + (rest >> 1) + (kept & 1u)) >> bits;
    /* The first digit, and one digit more if rounding made it, add to the exponent. */
    return ((uint32_t)(exponent - 1) << 23) + kept + more;
}

/* Shifts digits up by `step` bits, if the upmost of 31 stay 0, and says by how many it did. */
TILEWRIGHT_INLINE int32_t tilewright_shifted_up(uint32_t *digits, const int32_t step)
{
    if (*digits >> (31 - step) != 0u) {
        return 0;
    }
    *digits <<= step;
    return step;
}

/* a * b + c where not all are normal numbers, or a result is none. */
TILEWRIGHT_CALLED float tilewright_rare_multiply_add(float a, float b, float c)
{
    const uint32_t u = tilewright_float_word(a), v = tilewright_float_word(b);
    const int is_zero = u << 1 == 0u || v << 1 == 0u;
    const int is_finite = (~u & 0x7f800000u) != 0u && (~v & 0x7f800000u) != 0u;
    return is_zero && is_finite && tilewright_float_word(c) << 1 != 0u ? c : a * b + c;
}

/* a * b + c, both results rounded to the nearest float, ties to even: the bits that two library
 * functions give, which unpack and pack three numbers and their product, and ask of each what kind
 * it is. */
TILEWRIGHT_CALLED float tilewright_soft_multiply_add(float a, float b, float c)
{
    const uint32_t u = tilewright_float_word(a), v = tilewright_float_word(b),
                   w = tilewright_float_word(c);
    if (!tilewright_is_normal(u) || !tilewright_is_normal(v) || !tilewright_is_normal(w)) {
        return tilewright_rare_multiply_add(a, b, c);
    }

    const uint64_t product =
        (uint64_t)(tilewright_digits_of(u) << 8) * (tilewright_digits_of(v) << 8);
    uint32_t digits = (uint32_t)(product >> 32);
    int32_t exponent = (int32_t)((u >> 23 & 255u) + (v >> 23 & 255u)) - 126;
    if (digits >> 31 == 0u) {
        digits = digits << 1 | (uint32_t)product >> 31;
        exponent--;
    }
    if ((uint32_t)(exponent - 1) >= 253u) {
        return tilewright_rare_multiply_add(a, b, c);
    }
    digits |= (uint32_t)product != 0u;
    uint32_t large = tilewright_rounded_digits(digits, exponent, 8);
    uint32_t small = w & 0x7fffffffu, sign = u ^ v;
    if (large < small) {
        const uint32_t other = large;
        large = small;
        small = other;
        sign = w;
    }

    const uint32_t distance = (large >> 23) - (small >> 23);
    const uint32_t by = distance < 31u ? distance : 31u;
    const uint32_t next = tilewright_digits_of(small) << 7;
    const uint32_t added = next >> by | (next >> by << by != next);
    exponent = (int32_t)(large >> 23);
    digits = tilewright_digits_of(large) << 7;
    if ((u ^ v ^ w) >> 31 == 0u) {
        digits += added;
        if (digits >> 31 != 0u) {
            digits = digits >> 1 | (digits & 1u);
            exponent++;
        }
    } else {
        digits -= added;
        if (digits == 0u) {
            return 0.0f;
        }
        if (digits >> 30 == 0u) {
            /* Without a loop, so that the time of a run has a bound. */
            exponent -= tilewright_shifted_up(&digits, 16);
            exponent -= tilewright_shifted_up(&digits, 8);
            exponent -= tilewright_shifted_up(&digits, 4);
            exponent -= tilewright_shifted_up(&digits, 2);
            exponent -= tilewright_shifted_up(&digits, 1);
        }
    }
    if ((uint32_t)(exponent - 1) >= 254u) {
        return tilewright_rare_multiply_add(a, b, c);
    }
    const uint32_t word = (sign & 0x80000000u) | tilewright_rounded_digits(digits, exponent, 7);
    return tilewright_float_of((int32_t)word);
}

#ifdef __cplusplus
}
#endif

#endif
