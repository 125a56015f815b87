/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/elementwise_f32.h"
#include "tilewright/kernels/quantize_math.h"

/* clip(x / scale, rounded half away from zero, + zero point); NaN becomes the zero point. */
static int32_t quantized(float x, const struct tilewright_quantize_f32_attributes *attributes)
{
    const int32_t zero_point = attributes->zero_point;
    const float real =
        tilewright_clamp(x / attributes->scale, (float)(attributes->minimum - zero_point),
                         (float)(attributes->maximum - zero_point));
    int32_t whole;
    float rest;
    if (real != real) {
        return zero_point;
    }
    whole = (int32_t)real;
    /* The difference is exact: both are multiples of the last place of `real`, and it is below 1.
     */
    rest = real - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f) + zero_point;
}

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_quantize_f32_attributes *attributes = context;
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    for (int32_t i = 0; i < count; i++) {
        tilewright_store_integer(y, attributes->element_bytes,
                                 quantized(tilewright_load_f32(x), attributes));
        x += stride[0];
        y += stride[1];
    }
}

void tilewright_quantize_away_f32(const struct tilewright_quantize_f32_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 2, row, attributes);
}
