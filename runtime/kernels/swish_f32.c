/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/elementwise_f32.h"
#include "tilewright/kernels/power_f32.h"

TILEWRIGHT_INLINE float apply(float x, const float *parameters)
{
    const float power = tilewright_exp_of_number(tilewright_float_multiply(-parameters[0], x));
    return tilewright_float_quotient(x,
                                     tilewright_float_add(tilewright_float_constant(1.0f), power));
}

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_alpha_f32_attributes *attributes = context;
    const float parameters[] = {attributes->alpha};
    tilewright_unary_row(at, stride, count, apply, parameters, attributes->minimum,
                         attributes->maximum);
}

void tilewright_swish_f32(const struct tilewright_alpha_f32_attributes *attributes,
                          const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 2, row, attributes);
}
