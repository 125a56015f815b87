/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/elementwise_f32.h"

TILEWRIGHT_INLINE float apply(float x, const float *parameters)
{
    const float scaled = tilewright_float_multiply(parameters[0], x);
    return tilewright_clamp(tilewright_float_add(scaled, parameters[1]), 0.0f, 1.0f);
}

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_hard_sigmoid_f32_attributes *attributes = context;
    const float parameters[] = {attributes->alpha, attributes->beta};
    tilewright_light_row(at, stride, count, apply, parameters, attributes->minimum,
                         attributes->maximum);
}

void tilewright_hard_sigmoid_f32(const struct tilewright_hard_sigmoid_f32_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 2, row, attributes);
}
