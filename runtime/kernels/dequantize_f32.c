/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/elementwise_f32.h"
#include "tilewright/kernels/quantize_math.h"

/* Callers pass a constant for `element`. */
TILEWRIGHT_INLINE void convert(uint8_t *const *at, const int32_t *stride, int32_t count,
                               const struct tilewright_dequantize_f32_attributes *attributes,
                               int32_t element)
{
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    const int32_t zero_point = attributes->zero_point;
    const float scale = attributes->scale;
    const float minimum = attributes->minimum;
    const float maximum = attributes->maximum;
    for (int32_t i = 0; i < count; i++) {
        const float value =
            tilewright_dequantized(tilewright_load_integer(x, element), scale, zero_point);
        tilewright_store_f32(y, tilewright_clamp(value, minimum, maximum));
        x += stride[0];
        y += stride[1];
    }
}

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_dequantize_f32_attributes *attributes = context;
    switch (attributes->x_type) {
    case TILEWRIGHT_INT8:
        convert(at, stride, count, attributes, TILEWRIGHT_INT8);
        break;
    case TILEWRIGHT_UINT8:
        convert(at, stride, count, attributes, TILEWRIGHT_UINT8);
        break;
    default:
        convert(at, stride, count, attributes, attributes->x_type);
        break;
    }
}

void tilewright_dequantize_f32(const struct tilewright_dequantize_f32_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 2, row, attributes);
}
