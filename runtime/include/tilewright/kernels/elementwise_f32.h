/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of elementwise float kernels. Only for kernels: each kernel includes this header in a source
 * file of its own, so that firmware contains only the kernels that it calls. */
#ifndef TILEWRIGHT_KERNELS_ELEMENTWISE_F32_H
#define TILEWRIGHT_KERNELS_ELEMENTWISE_F32_H

#include "tilewright/kernels/float_math.h"
#include "tilewright/kernels/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef float (*tilewright_function_1)(float x, const float *parameters);
typedef float (*tilewright_function_2)(float a, float b);

/* y = clamp(f(x)); callers pass a constant for `f`, so that the compiler inlines the function. */
TILEWRIGHT_INLINE void tilewright_unary_row(uint8_t *const *at, const int32_t *stride,
                                            int32_t count, tilewright_function_1 f,
                                            const float *parameters, float minimum, float maximum)
{
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    const int32_t x_step = stride[0];
    const int32_t y_step = stride[1];
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < count; i++) {
        tilewright_store_f32(
            y, tilewright_clamp(f(tilewright_load_f32(x), parameters), minimum, maximum));
        x += x_step;
        y += y_step;
    }
}

/* tilewright_unary_row for a function of few instructions, of which a clamp would be a large part.
 */
TILEWRIGHT_INLINE void tilewright_light_row(uint8_t *const *at, const int32_t *stride,
                                            int32_t count, tilewright_function_1 f,
                                            const float *parameters, float minimum, float maximum)
{
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    if (!tilewright_is_unclamped(minimum, maximum) || stride[0] != 4 || stride[1] != 4) {
        tilewright_unary_row(at, stride, count, f, parameters, minimum, maximum);
        return;
    }
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < count; i++) {
        tilewright_store_f32(y, f(tilewright_load_f32(x), parameters));
        x += 4;
        y += 4;
    }
}

/* tilewright_unary_row for a function of many instructions, clamped only where a Clip follows:
 * without an FPU two comparisons take as long as a product. */
TILEWRIGHT_INLINE void tilewright_heavy_row(uint8_t *const *at, const int32_t *stride,
                                            int32_t count, tilewright_function_1 f,
                                            const float *parameters, float minimum, float maximum)
{
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    const float largest = 3.4028234e38f;
    const int clamps = minimum >= -largest || maximum <= largest;
    for (; count > 0; count--) {
        float value = f(tilewright_load_f32(x), parameters);
        if (clamps) {
            value = tilewright_clamp(value, minimum, maximum);
        }
        tilewright_store_f32(y, value);
        x += stride[0];
        y += stride[1];
    }
}

/* tilewright_binary_row where all elements lie side by side and have no upper bound. Callers pass a
 * constant for `raises`: whether there is a lower one. */
TILEWRIGHT_INLINE void tilewright_binary_beside(uint8_t *const *at, int32_t count,
                                                tilewright_function_2 f, int raises, float minimum)
{
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < count; i++) {
        const float value = f(tilewright_load_f32(a), tilewright_load_f32(b));
        tilewright_store_f32(y, raises ? tilewright_raise(value, minimum) : value);
        a += 4;
        b += 4;
        y += 4;
    }
}

/* y = clamp(f(a, b)); callers pass a constant for `f`, so that the compiler inlines the function.
 */
TILEWRIGHT_INLINE void tilewright_binary_row(uint8_t *const *at, const int32_t *stride,
                                             int32_t count, tilewright_function_2 f, float minimum,
                                             float maximum)
{
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];
    const int unclamped = tilewright_is_unclamped(minimum, maximum);
    const int beside = stride[0] == 4 && stride[1] == 4 && stride[2] == 4;
    if (unclamped && stride[0] == 4 && stride[1] == 0 && stride[2] == 4) {
        const float same = tilewright_load_f32(b);
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < count; i++) {
            tilewright_store_f32(y, f(tilewright_load_f32(a), same));
            a += 4;
            y += 4;
        }
        return;
    }
    if (unclamped && beside) {
        tilewright_binary_beside(at, count, f, 0, minimum);
        return;
    }
    if (beside && tilewright_is_open_above(maximum)) {
        tilewright_binary_beside(at, count, f, 1, minimum);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        tilewright_store_f32(y, tilewright_clamp(f(tilewright_load_f32(a), tilewright_load_f32(b)),
                                                 minimum, maximum));
        a += stride[0];
        b += stride[1];
        y += stride[2];
    }
}

/* Walks the output's box over `count` operands, the output last. */
TILEWRIGHT_INLINE void tilewright_elementwise(const struct tilewright_view *operands, int32_t count,
                                              tilewright_row_function row, const void *attributes)
{
    struct tilewright_walk_operand walked[TILEWRIGHT_WALK_OPERANDS];
    for (int32_t i = 0; i < count; i++) {
        tilewright_walk_set(&walked[i], &operands[i], NULL, NULL);
    }
    tilewright_walk(walked, count, operands[count - 1].shape->extent, row, attributes);
}

#ifdef __cplusplus
}
#endif

#endif
