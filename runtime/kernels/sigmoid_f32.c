/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/elementwise_f32.h"
#include "tilewright/kernels/power_f32.h"

TILEWRIGHT_INLINE float apply(float x, const float *parameters)
{
    (void)parameters;
    return tilewright_float_quotient(
        tilewright_float_constant(1.0f),
        tilewright_float_add(tilewright_float_constant(1.0f), tilewright_exp(-x)));
}

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_clamp_f32_attributes *attributes = context;
    tilewright_unary_row(at, stride, count, apply, NULL, attributes->minimum, attributes->maximum);
}

void tilewright_sigmoid_f32(const struct tilewright_clamp_f32_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 2, row, attributes);
}
