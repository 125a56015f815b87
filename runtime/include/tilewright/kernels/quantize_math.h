/* SPDX-License-Identifier: Apache-2.0 */
/* Access to quantized integers of 8 to 32 bits, and walks with their scales. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_QUANTIZE_MATH_H
#define TILEWRIGHT_KERNELS_QUANTIZE_MATH_H

#include "tilewright/interface.h"
#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/float_math.h"
#include "tilewright/kernels/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

TILEWRIGHT_INLINE int32_t tilewright_load_integer(const uint8_t *at, int32_t element)
{
    switch (element) {
    case TILEWRIGHT_INT8:
        return *(const int8_t *)at;
    case TILEWRIGHT_UINT8:
        return *at;
    case TILEWRIGHT_INT16:
        return *(const int16_t *)(const void *)at;
    case TILEWRIGHT_UINT16:
        return *(const uint16_t *)(const void *)at;
    default:
        return *(const int32_t *)(const void *)at;
    }
}

/* Stores the low 8 or 16 bits of the value, for signed and unsigned elements alike. */
TILEWRIGHT_INLINE void tilewright_store_integer(uint8_t *at, int32_t element_bytes, int32_t value)
{
    if (element_bytes == 1) {
        *at = (uint8_t)value;
    } else {
        *(uint16_t *)(void *)at = (uint16_t)value;
    }
}

/* What tilewright_quantized needs, worked out once for many elements. */
struct tilewright_quantizer {
    float scale;
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
#if TILEWRIGHT_ZFINX
    /* 1 / scale, and the smallest and the largest x that are not clipped; 0 where these could
     * overflow, or what is left of x could vanish. */
    float reciprocal;
    float lowest;
    float highest;
#endif
};

TILEWRIGHT_INLINE struct tilewright_quantizer
tilewright_quantizer_of(float scale, int32_t zero_point, int32_t minimum, int32_t maximum)
{
    struct tilewright_quantizer quantizer = {
        .scale = scale, .zero_point = zero_point, .minimum = minimum, .maximum = maximum};
#if TILEWRIGHT_ZFINX
    if (tilewright_float_less(0x1p-64f, scale) && tilewright_float_less(scale, 0x1p64f)) {
        quantizer.reciprocal = tilewright_float_divide(1.0f, scale);
        quantizer.lowest =
            tilewright_float_multiply(scale, tilewright_float_from(minimum - zero_point));
        quantizer.highest =
            tilewright_float_multiply(scale, tilewright_float_from(maximum - zero_point));
    }
#endif
    return quantizer;
}

/* x / scale, clamped so that its nearest integer and the zero point are in range; NaN stays NaN.
 * Cores that share a divider wait for it longer than the products take by which a quotient is
 * corrected: it is that of a division (P. Markstein, Computation of elementary functions on the IBM
 * RISC System/6000 processor, 1990, theorem 8.2), since the reciprocal is rounded to the nearest
 * and the first correction leaves less than a last place. */
TILEWRIGHT_INLINE float tilewright_ratio(const struct tilewright_quantizer *quantizer, float x)
{
#if TILEWRIGHT_ZFINX
    if (tilewright_float_less(0.0f, quantizer->reciprocal)) {
        const float inside = tilewright_clamp(x, quantizer->lowest, quantizer->highest);
        float ratio = tilewright_float_multiply(inside, quantizer->reciprocal);
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < 2; i++) {
            const float left = tilewright_multiply_add(-ratio, quantizer->scale, inside);
            ratio = tilewright_multiply_add(left, quantizer->reciprocal, ratio);
        }
        return ratio;
    }
#endif
    return tilewright_clamp(tilewright_float_divide(x, quantizer->scale),
                            tilewright_float_from(quantizer->minimum - quantizer->zero_point),
                            tilewright_float_from(quantizer->maximum - quantizer->zero_point));
}

/* tilewright_quantized(x, scale, zero_point, minimum, maximum). */
TILEWRIGHT_INLINE int32_t tilewright_quantize(const struct tilewright_quantizer *quantizer, float x)
{
    const float ratio = tilewright_ratio(quantizer, x);
    return tilewright_float_is_nan(ratio) ? quantizer->zero_point
                                          : tilewright_float_nearest(ratio) + quantizer->zero_point;
}

/* The same with halves rounded away from zero; NaN becomes the zero point. */
TILEWRIGHT_INLINE int32_t tilewright_quantize_away(const struct tilewright_quantizer *quantizer,
                                                   float x)
{
    const float ratio = tilewright_ratio(quantizer, x);
    return tilewright_float_is_nan(ratio) ? quantizer->zero_point
                                          : tilewright_float_away(ratio) + quantizer->zero_point;
}

/* The walk's operand for a packed constant with one element of 4 bytes for each index of `axis`. */
TILEWRIGHT_INLINE struct tilewright_walk_operand
tilewright_walk_parameters(const struct tilewright_view *constant, int32_t axis)
{
    struct tilewright_walk_operand operand = {constant->base, {0}, NULL, 0};
    operand.stride[axis] = 4;
    return operand;
}

/* Calls `row` for the rows of x, scale, zero point and y; each index of `axis` has its own scale
 * and zero point. */
TILEWRIGHT_INLINE void tilewright_walk_scaled(const struct tilewright_view *operands, int32_t axis,
                                              tilewright_row_function row, const void *context)
{
    struct tilewright_walk_operand walked[4];
    tilewright_walk_set(&walked[0], &operands[0], NULL, NULL);
    walked[1] = tilewright_walk_parameters(&operands[1], axis);
    walked[2] = tilewright_walk_parameters(&operands[2], axis);
    tilewright_walk_set(&walked[3], &operands[3], NULL, NULL);
    tilewright_walk(walked, 4, operands[3].shape->extent, row, context);
}

#ifdef __cplusplus
}
#endif

#endif
