/* SPDX-License-Identifier: Apache-2.0 */
/* e^x and functions that consist of it, for cores that compute floats themselves; others call the
 * mathematical library. Only for kernels, whose sources include its header first: builds link the
 * library where a source does. */
#ifndef TILEWRIGHT_KERNELS_POWER_F32_H
#define TILEWRIGHT_KERNELS_POWER_F32_H

#include "tilewright/kernels/float_math.h"

#ifdef __cplusplus
extern "C" {
#endif

#if TILEWRIGHT_FAST_FLOATS

/* e^x = 2^n * (1 + rest): n is the integer next to x / ln 2. */
struct tilewright_power {
    float scale; /* 2^n */
    float rest;  /* within 1e-7 of itself */
};

/* For x from -87 to 88. */
TILEWRIGHT_INLINE struct tilewright_power tilewright_power_within(float x)
{
    union {
        float number;
        uint32_t word;
    } shifted, scale;
    /* The lowest bits of the sum are n. */
    shifted.number = tilewright_multiply_add(x, tilewright_float_constant(1.44269504f),
                                             tilewright_float_constant(12582912.0f));
    const float n =
        tilewright_float_subtract(shifted.number, tilewright_float_constant(12582912.0f));
    /* ln 2 in two parts: n times the first one is exact. */
    const float high = tilewright_multiply_add(n, tilewright_float_constant(-0.693359375f), x);
    const float r = tilewright_multiply_add(n, tilewright_float_constant(2.12194440e-4f), high);
    /* (e^r - 1 - r) / r^2 for |r| below ln 2 / 2, to 4e-9 of e^r. */
    float sum = tilewright_float_constant(1.39517174e-3f);
    sum = tilewright_multiply_add(sum, r, tilewright_float_constant(8.36959854e-3f));
    sum = tilewright_multiply_add(sum, r, tilewright_float_constant(4.16661873e-2f));
    sum = tilewright_multiply_add(sum, r, tilewright_float_constant(1.66665122e-1f));
    sum = tilewright_multiply_add(sum, r, tilewright_float_constant(0.5f));
    scale.word = (shifted.word << 23) + 0x3f800000u;
    const struct tilewright_power power = {
        scale.number, tilewright_multiply_add(sum, tilewright_float_multiply(r, r), r)};
    return power;
}

/* x beyond -87 and 88 counts as these: results are never subnormal nor infinite. NaN stays NaN. */
TILEWRIGHT_INLINE struct tilewright_power tilewright_power_of(float x)
{
    return tilewright_power_within(
        tilewright_clamp(x, tilewright_float_constant(-87.0f), tilewright_float_constant(88.0f)));
}

/* e^x, or any number if x is NaN. */
TILEWRIGHT_INLINE float tilewright_exp_of_number(float x)
{
    const struct tilewright_power power = tilewright_power_within(
        tilewright_float_larger(tilewright_float_smaller(x, tilewright_float_constant(88.0f)),
                                tilewright_float_constant(-87.0f)));
    return tilewright_multiply_add(power.rest, power.scale, power.scale);
}

/* e^x. */
TILEWRIGHT_INLINE float tilewright_exp(float x)
{
    const struct tilewright_power power = tilewright_power_of(x);
    return tilewright_multiply_add(power.rest, power.scale, power.scale);
}

/* e^x - 1, which keeps its digits next to 0. */
TILEWRIGHT_INLINE float tilewright_exp_less_one(float x)
{
    const struct tilewright_power power = tilewright_power_of(x);
    return tilewright_multiply_add(
        power.rest, power.scale,
        tilewright_float_subtract(power.scale, tilewright_float_constant(1.0f)));
}

TILEWRIGHT_INLINE float tilewright_tanh(float x)
{
    const float power = tilewright_exp_less_one(tilewright_float_add(x, x));
    return tilewright_float_divide(power,
                                   tilewright_float_add(power, tilewright_float_constant(2.0f)));
}

#else

TILEWRIGHT_INLINE float tilewright_exp_of_number(float x)
{
    return expf(x);
}

TILEWRIGHT_INLINE float tilewright_exp(float x)
{
    return expf(x);
}

TILEWRIGHT_INLINE float tilewright_exp_less_one(float x)
{
    return expm1f(x);
}

TILEWRIGHT_INLINE float tilewright_tanh(float x)
{
    return tanhf(x);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
