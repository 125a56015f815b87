/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/elementwise_f32.h"

TILEWRIGHT_INLINE float apply(float x, const float *parameters)
{
    (void)parameters;
    const float shifted =
        tilewright_float_add(tilewright_float_multiply(x, tilewright_float_constant(0.16666667f)),
                             tilewright_float_constant(0.5f));
    /* NaN times any number is NaN. */
    return tilewright_float_multiply(x, tilewright_clamp_number(shifted,
                                                                tilewright_float_constant(0.0f),
                                                                tilewright_float_constant(1.0f)));
}

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_clamp_f32_attributes *attributes = context;
    tilewright_light_row(at, stride, count, apply, NULL, attributes->minimum, attributes->maximum);
}

void tilewright_hard_swish_f32(const struct tilewright_clamp_f32_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 2, row, attributes);
}
