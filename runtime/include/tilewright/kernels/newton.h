/* SPDX-License-Identifier: Apache-2.0 */
/* Reciprocals and inverse roots in fixed point, by the method of Newton and Raphson. Only for
 * kernels. */
#ifndef TILEWRIGHT_KERNELS_NEWTON_H
#define TILEWRIGHT_KERNELS_NEWTON_H

#include "tilewright/kernels/integer_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* a * b / 2^31, rounded half up. */
static inline int32_t tilewright_high_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}

/* value * 2^shift, limited to 32 bits. */
static inline int32_t tilewright_shifted(int32_t value, int32_t shift)
{
    return tilewright_limit((int64_t)value * (1 << shift), INT32_MIN, INT32_MAX);
}

/* 1 / (1 + fraction), both as Q0.31: three steps on numbers as Q2.29, from 48/17 - 32/17 x. */
static inline int32_t tilewright_reciprocal(int32_t fraction)
{
    const int32_t half_sum = (int32_t)(((int64_t)fraction + INT32_MAX + 1) / 2);
    int32_t x = 1515870810 + tilewright_high_product(half_sum, -1010580540);
    for (int32_t i = 0; i < 3; i++) {
        const int32_t error = (1 << 29) - tilewright_high_product(half_sum, x);
        x += tilewright_shifted(tilewright_high_product(x, error), 2);
    }
    return tilewright_shifted(x, 1);
}

/* q with q / 2^31 / 2^shift next to 1 / sqrt(x): five steps on Q3.28. */
static inline int32_t tilewright_inverse_root(int32_t x, int32_t *shift)
{
    int32_t root = 1 << 28;
    *shift = 0;
    if (x <= 1) {
        return INT32_MAX;
    }
    *shift = 11;
    while (x >= 1 << 29) {
        x /= 4;
        *shift += 1;
    }
    while (x < 1 << 27) {
        x *= 4;
        *shift -= 1;
    }
    const int32_t half = ((x >> 1) + 1) >> 1;
    for (int32_t i = 0; i < 5; i++) {
        const int32_t square = tilewright_high_product(root, root);
        const int32_t cube = tilewright_shifted(tilewright_high_product(square, root), 6);
        const int32_t step =
            tilewright_high_product(3 << 27, root) - tilewright_high_product(half, cube);
        root = tilewright_shifted(step, 3);
    }
    root = tilewright_high_product(root, 1518500250);
    if (*shift < 0) {
        root = (int32_t)((uint32_t)root << -*shift);
        *shift = 0;
    }
    return root;
}

/* Bits of a number up to its highest 1. */
static inline int32_t tilewright_bits_of(uint32_t value)
{
    int32_t bits = 0;
    for (; value != 0; value >>= 1) {
        bits++;
    }
    return bits;
}

/* 2^(bits of b) / b as Q0.31, for b from 1 to 2^31 - 1. */
static inline int32_t tilewright_reciprocal_of(int32_t b)
{
    const int32_t bits = tilewright_bits_of((uint32_t)b);
    return tilewright_reciprocal((int32_t)(((uint32_t)b << (32 - bits)) & 0x7fffffffu));
}

/* a / b in y's steps before the limits, by tilewright_reciprocal_of(|b|): from a table if
 * `is_tabulated`, a constant, is 1, else computed. A b of 0 gives the zero point. */
static inline int32_t tilewright_quotient(const struct tilewright_div_fixed_attributes *given,
                                          const int32_t *reciprocals, int32_t is_tabulated,
                                          int32_t a, int32_t b)
{
    if (b == 0) {
        return given->zero_point;
    }
    if (b < 0) {
        a = -a;
        b = -b;
    }
    const int32_t headroom = a < 0 ? 32 - tilewright_bits_of((uint32_t)(-2 * a) - 1u)
                                   : 31 - tilewright_bits_of((uint32_t)a);
    const int32_t wide = (int32_t)((uint32_t)a << headroom);
    const int32_t reciprocal = is_tabulated != 0 ? reciprocals[b] : tilewright_reciprocal_of(b);
    const int32_t fraction = tilewright_high_product(wide, reciprocal);
    const int32_t shift = given->shift - (tilewright_bits_of((uint32_t)b) - 1) - headroom;
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t high = tilewright_high_up((int32_t)((uint32_t)fraction << left), given->doubled);
    if (shift < -31) {
        /* LiteRT shifts by the remainder of 32, and adds 1 unless the product is negative. */
        return tilewright_limit((int64_t)(high >> (-shift & 31)) + (high >= 0), -(1 << 30),
                                1 << 30) +
               given->zero_point;
    }
    return tilewright_round_away(high, left - shift) + given->zero_point;
}

#ifdef __cplusplus
}
#endif

#endif
