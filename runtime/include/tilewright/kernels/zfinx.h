/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of Zfinx: floats in integer registers. Compilers that do not know the extension, as
 * GCC 12, call library functions for floats; their calling convention has floats in the same
 * registers, so these functions work beside such code. The encodings are those of the F extension
 * (RISC-V Unprivileged ISA, chapters "F" and "Zfinx"). Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_ZFINX_H
#define TILEWRIGHT_KERNELS_ZFINX_H

#include "tilewright/kernels/basics.h"

#if defined(TILEWRIGHT_ZFINX) && TILEWRIGHT_ZFINX

#ifdef __cplusplus
extern "C" {
#endif

/* The field rm of an instruction: how it rounds. */
#define TILEWRIGHT_RNE "0" /* to the nearest, ties to even */

/* fadd.s */
TILEWRIGHT_INLINE float tilewright_float_add(float a, float b)
{
    float y;
    __asm__(".insn r 0x53, " TILEWRIGHT_RNE ", 0x00, %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* fsub.s */
TILEWRIGHT_INLINE float tilewright_float_subtract(float a, float b)
{
    float y;
    __asm__(".insn r 0x53, " TILEWRIGHT_RNE ", 0x04, %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* fmul.s */
TILEWRIGHT_INLINE float tilewright_float_multiply(float a, float b)
{
    float y;
    __asm__(".insn r 0x53, " TILEWRIGHT_RNE ", 0x08, %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* fdiv.s */
TILEWRIGHT_INLINE float tilewright_float_divide(float a, float b)
{
    float y;
    __asm__(".insn r 0x53, " TILEWRIGHT_RNE ", 0x0c, %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* fmin.s */
TILEWRIGHT_INLINE float tilewright_float_smaller(float a, float b)
{
    float y;
    __asm__(".insn r 0x53, 0, 0x14, %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* fmax.s */
TILEWRIGHT_INLINE float tilewright_float_larger(float a, float b)
{
    float y;
    __asm__(".insn r 0x53, 1, 0x14, %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* fsqrt.s */
TILEWRIGHT_INLINE float tilewright_float_root(float x)
{
    float y;
    __asm__(".insn r 0x53, " TILEWRIGHT_RNE ", 0x2c, %0, %1, x0" : "=r"(y) : "r"(x));
    return y;
}

/* fmadd.s: a * b + c, rounded once. */
TILEWRIGHT_INLINE float tilewright_multiply_add(float a, float b, float c)
{
    float y;
    __asm__(".insn r4 0x43, " TILEWRIGHT_RNE ", 0, %0, %1, %2, %3"
            : "=r"(y)
            : "r"(a), "r"(b), "r"(c));
    return y;
}

/* flt.s: 0 if a or b is NaN. */
TILEWRIGHT_INLINE int tilewright_float_less(float a, float b)
{
    int y;
    __asm__(".insn r 0x53, 1, 0x50, %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* fle.s: 0 if a or b is NaN. */
TILEWRIGHT_INLINE int tilewright_float_at_most(float a, float b)
{
    int y;
    __asm__(".insn r 0x53, 0, 0x50, %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* feq.s of x and itself is 0 if x is NaN. */
TILEWRIGHT_INLINE int tilewright_float_is_nan(float x)
{
    int y;
    __asm__(".insn r 0x53, 2, 0x50, %0, %1, %1" : "=r"(y) : "r"(x));
    return y == 0;
}

/* fcvt.w.s: the nearest integer, the even one of two as near. */
TILEWRIGHT_INLINE int32_t tilewright_float_nearest(float x)
{
    int32_t y;
    __asm__(".insn r 0x53, " TILEWRIGHT_RNE ", 0x60, %0, %1, x0" : "=r"(y) : "r"(x));
    return y;
}

/* fcvt.s.w */
TILEWRIGHT_INLINE float tilewright_float_from(int32_t x)
{
    float y;
    __asm__(".insn r 0x53, " TILEWRIGHT_RNE ", 0x68, %0, %1, x0" : "=r"(y) : "r"(x));
    return y;
}

/* a / b to a few steps, for b from 1 on; beyond 2^100 b counts as that. The cores of a cluster
 * share a divider, so a division takes as many cycles as all of them need: this is a guess by the
 * bits of b, to 12 %, and three steps of Newton's. */
TILEWRIGHT_INLINE float tilewright_float_quotient(float a, float b)
{
    const float one = 1.0f;
    const float limited = tilewright_float_smaller(b, 0x1p100f);
    union {
        float number;
        uint32_t word;
    } guess = {limited}, negative = {limited};
    guess.word = 0x7ef311c7u - guess.word;
    negative.word ^= 0x80000000u;
    float reciprocal = guess.number;
    for (int32_t i = 0; i < 3; i++) {
        const float error = tilewright_multiply_add(negative.number, reciprocal, one);
        reciprocal = tilewright_multiply_add(reciprocal, error, reciprocal);
    }
    return tilewright_float_multiply(a, reciprocal);
}

#undef TILEWRIGHT_RNE

/* A constant as an instruction or two: the compiler would load it from read-only data, which is far
 * from the core. */
TILEWRIGHT_INLINE float tilewright_float_constant(float x)
{
    union {
        float number;
        uint32_t word;
    } constant = {x};
    __asm__("" : "+r"(constant.word));
    return constant.number;
}

#ifdef __cplusplus
}
#endif

#endif

#endif
