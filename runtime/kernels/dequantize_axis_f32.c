/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/quantize_math.h"

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_dequantize_axis_f32_attributes *attributes = context;
    const uint8_t *x = at[0];
    const uint8_t *scale = at[1];
    const uint8_t *zero_point = at[2];
    uint8_t *y = at[3];
    for (int32_t i = 0; i < count; i++) {
        const float value = tilewright_dequantized(tilewright_load_integer(x, attributes->x_type),
                                                   tilewright_load_f32(scale),
                                                   *(const int32_t *)(const void *)zero_point);
        tilewright_store_f32(y, tilewright_clamp(value, attributes->minimum, attributes->maximum));
        x += stride[0];
        scale += stride[1];
        zero_point += stride[2];
        y += stride[3];
    }
}

void tilewright_dequantize_axis_f32(
    const struct tilewright_dequantize_axis_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_walk_scaled(operands, attributes->axis, row, attributes);
}
