/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/elementwise_f32.h"
#include "tilewright/kernels/quantize_math.h"

/* clip(x / scale, rounded half away from zero, + zero point); NaN becomes the zero point. */
static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_quantize_f32_attributes *attributes = context;
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    const struct tilewright_quantizer quantizer = tilewright_quantizer_of(
        attributes->scale, attributes->zero_point, attributes->minimum, attributes->maximum);
    for (int32_t i = 0; i < count; i++) {
        tilewright_store_integer(y, attributes->element_bytes,
                                 tilewright_quantize_away(&quantizer, tilewright_load_f32(x)));
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
