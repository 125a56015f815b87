/* SPDX-License-Identifier: Apache-2.0 */
/* Float arithmetic that kernels share. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_FLOAT_MATH_H
#define TILEWRIGHT_KERNELS_FLOAT_MATH_H

#include "tilewright/kernels/basics.h"
#include "tilewright/runtime.h"

/* 1: the core computes floats in integer registers, and the compiler may not know. The platform's
 * compile options say so. */
#ifndef TILEWRIGHT_ZFINX
#define TILEWRIGHT_ZFINX 0
#endif

#if TILEWRIGHT_ZFINX
#include "tilewright/kernels/zfinx.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Whether loops of floats are worth more code: the core computes floats itself, and the build is
 * not for size. Where library functions compute them, their instructions are nearly all. */
#if !defined(__OPTIMIZE_SIZE__) && (defined(__riscv) ? defined(__riscv_flen) || TILEWRIGHT_ZFINX   \
                                                     : !defined(__arm__) || defined(__ARM_FP))
#define TILEWRIGHT_FAST_FLOATS 1
#else
#define TILEWRIGHT_FAST_FLOATS 0
#endif

/* 1: library functions compute floats, and what bits tell is told by them. */
#ifndef TILEWRIGHT_SOFT_FLOATS
#if (defined(__riscv) && !defined(__riscv_flen) && !TILEWRIGHT_ZFINX) ||                           \
    (defined(__arm__) && !defined(__ARM_FP))
#define TILEWRIGHT_SOFT_FLOATS 1
#else
#define TILEWRIGHT_SOFT_FLOATS 0
#endif
#endif

/* 1: products are added by a function of ours. Library functions of Arm are assembler. */
#ifndef TILEWRIGHT_SOFT_PRODUCTS
#if defined(__riscv) && defined(__riscv_mul) && TILEWRIGHT_SOFT_FLOATS &&                          \
    !defined(__OPTIMIZE_SIZE__)
#define TILEWRIGHT_SOFT_PRODUCTS 1
#else
#define TILEWRIGHT_SOFT_PRODUCTS 0
#endif
#endif

#if TILEWRIGHT_SOFT_PRODUCTS
#include "tilewright/kernels/soft_float.h"
#endif

/* An integer for each number, in the order of numbers; both zeros are 0. */
TILEWRIGHT_INLINE int32_t tilewright_float_order(float x)
{
    const uint32_t word = tilewright_float_word(x);
    return (int32_t)(word >> 31 != 0u ? 0x80000000u - word : word);
}

/* Whether x is NaN, by its bits. */
TILEWRIGHT_INLINE int tilewright_bits_of_nan(float x)
{
    return (tilewright_float_word(x) & 0x7fffffffu) > 0x7f800000u;
}

/* The nearest integer of a number between -2^22 and 2^22 by its bits, which library functions would
 * take apart five times; of two, the even one where `even` is 1, else the one further from zero. */
TILEWRIGHT_INLINE int32_t tilewright_rounded_bits(float x, const uint32_t even)
{
    const uint32_t word = tilewright_float_word(x);
    const int32_t shift = 150 - (int32_t)(word >> 23 & 255u);
    if (shift > 24) {
        return 0;
    }
    const uint32_t digits = (word & 0x7fffffu) | 0x800000u;
    const uint32_t down = even & ~(digits >> shift);
    const int32_t whole = (int32_t)((digits + (1u << (shift - 1)) - down) >> shift);
    return word >> 31 != 0u ? -whole : whole;
}

#if !TILEWRIGHT_ZFINX

TILEWRIGHT_INLINE float tilewright_float_add(float a, float b)
{
    return a + b;
}

TILEWRIGHT_INLINE float tilewright_float_subtract(float a, float b)
{
    return a - b;
}

TILEWRIGHT_INLINE float tilewright_float_multiply(float a, float b)
{
    return a * b;
}

TILEWRIGHT_INLINE float tilewright_float_divide(float a, float b)
{
    return a / b;
}

/* a / b, b from 1 on; of a few steps less where cores share a divider. */
TILEWRIGHT_INLINE float tilewright_float_quotient(float a, float b)
{
    return a / b;
}

/* a < b; 0 if one is NaN. */
TILEWRIGHT_INLINE int tilewright_float_less(float a, float b)
{
#if TILEWRIGHT_SOFT_FLOATS
    return !tilewright_bits_of_nan(a) && !tilewright_bits_of_nan(b) &&
           tilewright_float_order(a) < tilewright_float_order(b);
#else
    return a < b;
#endif
}

/* a <= b; 0 if one is NaN. */
TILEWRIGHT_INLINE int tilewright_float_at_most(float a, float b)
{
#if TILEWRIGHT_SOFT_FLOATS
    return !tilewright_bits_of_nan(a) && !tilewright_bits_of_nan(b) &&
           tilewright_float_order(a) <= tilewright_float_order(b);
#else
    return a <= b;
#endif
}

TILEWRIGHT_INLINE int tilewright_float_is_nan(float x)
{
#if TILEWRIGHT_SOFT_FLOATS
    return tilewright_bits_of_nan(x);
#else
    return x != x;
#endif
}

TILEWRIGHT_INLINE float tilewright_float_from(int32_t x)
{
    return (float)x;
}

/* The smaller of two numbers without a branch, so that constants of what follows stay in registers;
 * if one is NaN, either of them. */
TILEWRIGHT_INLINE float tilewright_float_smaller(float a, float b)
{
#if defined(__riscv_flen)
    float smaller;
    __asm__("fmin.s %0, %1, %2" : "=f"(smaller) : "f"(a), "f"(b));
    return smaller;
#elif TILEWRIGHT_SOFT_FLOATS
    return tilewright_float_order(b) < tilewright_float_order(a) ? b : a;
#else
    return b < a ? b : a;
#endif
}

/* The larger of two numbers, as tilewright_float_smaller. */
TILEWRIGHT_INLINE float tilewright_float_larger(float a, float b)
{
#if defined(__riscv_flen)
    float larger;
    __asm__("fmax.s %0, %1, %2" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
#elif TILEWRIGHT_SOFT_FLOATS
    return tilewright_float_order(b) > tilewright_float_order(a) ? b : a;
#else
    return b > a ? b : a;
#endif
}

/* A constant of a kernel's formula. */
TILEWRIGHT_INLINE float tilewright_float_constant(float x)
{
    return x;
}

/* The nearest integer of a number between -2^22 and 2^22; of two, the even one. */
TILEWRIGHT_INLINE int32_t tilewright_float_nearest(float x)
{
    int32_t whole;
#if defined(__riscv_flen)
    __asm__("fcvt.w.s %0, %1, rne" : "=r"(whole) : "f"(x));
#elif !TILEWRIGHT_FAST_FLOATS
    whole = tilewright_rounded_bits(x, 1);
#else
    float rest;
    whole = (int32_t)x;
    /* The difference is exact: both are multiples of the last place of x, and it is below 1. */
    rest = x - (float)whole;
    if (rest > 0.5f || (rest == 0.5f && (whole & 1) != 0)) {
        whole++;
    } else if (rest < -0.5f || (rest == -0.5f && (whole & 1) != 0)) {
        whole--;
    }
#endif
    return whole;
}

/* a * b + c, fused if the target has the instruction; with -std=c11 GCC never fuses by itself. */
TILEWRIGHT_INLINE float tilewright_multiply_add(float a, float b, float c)
{
#if defined(__riscv_flen) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#elif TILEWRIGHT_SOFT_PRODUCTS
    return tilewright_soft_multiply_add(a, b, c);
#else
    return a * b + c;
#endif
}

#endif

/* The nearest integer of a number between -2^22 and 2^22; of two, the one further from zero. */
TILEWRIGHT_INLINE int32_t tilewright_float_away(float x)
{
#if defined(__riscv_flen)
    int32_t whole;
    __asm__("fcvt.w.s %0, %1, rmm" : "=r"(whole) : "f"(x));
    return whole;
#else
    return tilewright_rounded_bits(x, 0);
#endif
}

/* max(x, minimum); NaN stays NaN. */
TILEWRIGHT_INLINE float tilewright_raise(float x, float minimum)
{
    return tilewright_float_less(x, minimum) ? minimum : x;
}

/* min(max(x, minimum), maximum); NaN stays NaN. */
TILEWRIGHT_INLINE float tilewright_clamp(float x, float minimum, float maximum)
{
    const float y = tilewright_raise(x, minimum);
    return tilewright_float_less(maximum, y) ? maximum : y;
}

/* tilewright_clamp of a number; of NaN it gives any number. */
TILEWRIGHT_INLINE float tilewright_clamp_number(float x, float minimum, float maximum)
{
#if defined(__riscv_flen)
    /* GCC 12 calls fmaxf, since it knows no difference between quiet and signalling NaN. */
    __asm__("fmax.s %0, %0, %1" : "+f"(x) : "f"(minimum));
    __asm__("fmin.s %0, %0, %1" : "+f"(x) : "f"(maximum));
    return x;
#else
    return tilewright_clamp(x, minimum, maximum);
#endif
}

/* Whether code without an upper bound is worth its bytes, and the bound is infinite, as Relu's. */
TILEWRIGHT_INLINE int tilewright_is_open_above(float maximum)
{
    const float largest = 3.4028234e38f;
    return TILEWRIGHT_FAST_FLOATS && tilewright_float_less(largest, maximum);
}

/* Whether loops without a clamp are worth their code, and the clamp's bounds are infinite. */
TILEWRIGHT_INLINE int tilewright_is_unclamped(float minimum, float maximum)
{
    const float largest = 3.4028234e38f;
    return tilewright_is_open_above(maximum) && tilewright_float_less(minimum, -largest);
}

TILEWRIGHT_INLINE float tilewright_load_f32(const uint8_t *at)
{
    return *(const float *)(const void *)at;
}

TILEWRIGHT_INLINE void tilewright_store_f32(uint8_t *at, float value)
{
    *(float *)(void *)at = value;
}

/* Bytes from a view's base to position `index` of the whole tensor on one axis. */
TILEWRIGHT_INLINE ptrdiff_t tilewright_axis_offset(const struct tilewright_shape *shape,
                                                   int32_t axis, int32_t index)
{
    int32_t slot = index - shape->origin[axis];
    if (shape->ring_rows != 0 && shape->ring_axis == axis) {
        slot = index % shape->ring_rows;
    }
    return (ptrdiff_t)slot * shape->stride[axis];
}

#ifdef __cplusplus
}
#endif

#endif
