/* SPDX-License-Identifier: Apache-2.0 */
/* Macros that define row functions: the loop around an expression. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_MAP_ROWS_H
#define TILEWRIGHT_KERNELS_MAP_ROWS_H

#include "tilewright/kernels/declarations.h"

/* Whether x < 0, without a warning if x is unsigned. */
#define TILEWRIGHT_NEGATIVE(x) ((x) < 1 && (x) != 0)
#define TILEWRIGHT_ELEMENT(type, at) (*(const type *)(const void *)(at))
#define TILEWRIGHT_PARAMETERS(context)                                                             \
    (((const struct tilewright_map_attributes *)(context))->parameters)

/* y = expression of x, and of p[0] to p[3]. */
#define TILEWRIGHT_MAP_1(name, Y, X, expression)                                                   \
    void tilewright_map_##name(uint8_t *const *at, const int32_t *stride, int32_t count,           \
                               const void *context)                                                \
    {                                                                                              \
        const float *p = TILEWRIGHT_PARAMETERS(context);                                           \
        const uint8_t *x_at = at[0];                                                               \
        uint8_t *y_at = at[1];                                                                     \
        (void)p;                                                                                   \
        for (; count > 0; count--) {                                                               \
            const X x = TILEWRIGHT_ELEMENT(X, x_at);                                               \
            *(Y *)(void *)y_at = (Y)(expression);                                                  \
            x_at += stride[0];                                                                     \
            y_at += stride[1];                                                                     \
        }                                                                                          \
    }

/* y = expression of a and b. */
#define TILEWRIGHT_MAP_2(name, Y, A, B, expression)                                                \
    void tilewright_map_##name(uint8_t *const *at, const int32_t *stride, int32_t count,           \
                               const void *context)                                                \
    {                                                                                              \
        const uint8_t *a_at = at[0];                                                               \
        const uint8_t *b_at = at[1];                                                               \
        uint8_t *y_at = at[2];                                                                     \
        (void)context;                                                                             \
        for (; count > 0; count--) {                                                               \
            const A a = TILEWRIGHT_ELEMENT(A, a_at);                                               \
            const B b = TILEWRIGHT_ELEMENT(B, b_at);                                               \
            *(Y *)(void *)y_at = (Y)(expression);                                                  \
            a_at += stride[0];                                                                     \
            b_at += stride[1];                                                                     \
            y_at += stride[2];                                                                     \
        }                                                                                          \
    }

/* y = expression of a, b and c. */
#define TILEWRIGHT_MAP_3(name, Y, A, B, C, expression)                                             \
    void tilewright_map_##name(uint8_t *const *at, const int32_t *stride, int32_t count,           \
                               const void *context)                                                \
    {                                                                                              \
        const uint8_t *a_at = at[0];                                                               \
        const uint8_t *b_at = at[1];                                                               \
        const uint8_t *c_at = at[2];                                                               \
        uint8_t *y_at = at[3];                                                                     \
        (void)context;                                                                             \
        for (; count > 0; count--) {                                                               \
            const A a = TILEWRIGHT_ELEMENT(A, a_at);                                               \
            const B b = TILEWRIGHT_ELEMENT(B, b_at);                                               \
            const C c = TILEWRIGHT_ELEMENT(C, c_at);                                               \
            *(Y *)(void *)y_at = (Y)(expression);                                                  \
            a_at += stride[0];                                                                     \
            b_at += stride[1];                                                                     \
            c_at += stride[2];                                                                     \
            y_at += stride[3];                                                                     \
        }                                                                                          \
    }

/* Expands macro(suffix, type, wide) for each integer type; `wide` is an unsigned type of at least
 * 32 bits, in which sums and products wrap instead of overflowing. */
#define TILEWRIGHT_FOR_INTEGERS(macro)                                                             \
    macro(i8, int8_t, uint32_t) macro(u8, uint8_t, uint32_t) macro(i16, int16_t, uint32_t)         \
        macro(u16, uint16_t, uint32_t) macro(i32, int32_t, uint32_t)                               \
            macro(u32, uint32_t, uint32_t) macro(i64, int64_t, uint64_t)

#endif
