/* SPDX-License-Identifier: Apache-2.0 */
/* A line of float32 LayerNormalization or RMSNormalization: its mean, its variance, and its
 * results. Only for the kernels of whole lines and of parts of lines. */
#ifndef TILEWRIGHT_KERNELS_NORM_LINE_F32_H
#define TILEWRIGHT_KERNELS_NORM_LINE_F32_H

#include "tilewright/kernels/float_math.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_norm_f32 {
    const uint8_t *scale;
    const uint8_t *bias; /* null: none */
    float epsilon;
    int32_t centred;
    int32_t count;
    int32_t x_step, scale_step, bias_step, y_step;
};

/* Kernels include math.h themselves: builds link the library where a source does. */
#if TILEWRIGHT_ZFINX
#define TILEWRIGHT_ROOT(x) tilewright_float_root(x)
#else
#define TILEWRIGHT_ROOT(x) sqrtf(x)
#endif

/* The sum of a line, or of the squares of its elements less `mean`. Callers pass a constant for
 * `squares`, and for `step` where elements lie beside each other. */
TILEWRIGHT_INLINE float tilewright_norm_sum_f32(const uint8_t *x, int32_t count, int32_t step,
                                                int squares, float mean)
{
    float sum = 0.0f;
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < count; i++) {
        const float value = tilewright_load_f32(x);
        const float centred = squares ? tilewright_float_subtract(value, mean) : value;
        sum = squares ? tilewright_multiply_add(centred, centred, sum)
                      : tilewright_float_add(sum, centred);
        x += step;
    }
    return sum;
}

static inline float tilewright_norm_mean_f32(const struct tilewright_norm_f32 *norm,
                                             const uint8_t *x)
{
    const float sum = norm->x_step == 4
                          ? tilewright_norm_sum_f32(x, norm->count, 4, 0, 0.0f)
                          : tilewright_norm_sum_f32(x, norm->count, norm->x_step, 0, 0.0f);
    return sum / (float)norm->count;
}

/* The variance as the mean of (x - mean)^2; mean(x^2) - mean^2 would lose digits if both are large.
 */
static inline float tilewright_norm_variance_f32(const struct tilewright_norm_f32 *norm,
                                                 const uint8_t *x, float mean)
{
    const float sum = norm->x_step == 4
                          ? tilewright_norm_sum_f32(x, norm->count, 4, 1, mean)
                          : tilewright_norm_sum_f32(x, norm->count, norm->x_step, 1, mean);
    return sum / (float)norm->count;
}

/* The results of `count` elements from x on, all operands beside each other. */
TILEWRIGHT_INLINE void tilewright_norm_beside_f32(const struct tilewright_norm_f32 *norm,
                                                  const uint8_t *x, uint8_t *y, int32_t count,
                                                  float mean, float factor)
{
    const uint8_t *scale = norm->scale;
    const uint8_t *bias = norm->bias;

    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < count; i++) {
        const float centred = tilewright_float_subtract(tilewright_load_f32(x), mean);
        const float normal = tilewright_float_multiply(centred, factor);
        const float value = tilewright_float_multiply(normal, tilewright_load_f32(scale));
        tilewright_store_f32(y, tilewright_float_add(value, tilewright_load_f32(bias)));
        x += 4;
        scale += 4;
        bias += 4;
        y += 4;
    }
}

/* The results of `count` elements from x on. */
TILEWRIGHT_INLINE void tilewright_norm_write_f32(const struct tilewright_norm_f32 *norm,
                                                 const uint8_t *x, uint8_t *y, int32_t count,
                                                 float mean, float factor)
{
    const uint8_t *scale = norm->scale;
    const uint8_t *bias = norm->bias;

    if (bias != NULL && norm->x_step == 4 && norm->y_step == 4 && norm->scale_step == 4 &&
        norm->bias_step == 4) {
        tilewright_norm_beside_f32(norm, x, y, count, mean, factor);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        const float centred = tilewright_float_subtract(tilewright_load_f32(x), mean);
        const float normal = tilewright_float_multiply(centred, factor);
        float value = tilewright_float_multiply(normal, tilewright_load_f32(scale));
        if (bias != NULL) {
            value = tilewright_float_add(value, tilewright_load_f32(bias));
            bias += norm->bias_step;
        }
        tilewright_store_f32(y, value);
        x += norm->x_step;
        scale += norm->scale_step;
        y += norm->y_step;
    }
}

#ifdef __cplusplus
}
#endif

#endif
