/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/elementwise_f32.h"
#include "tilewright/kernels/power_f32.h"

#if TILEWRIGHT_FAST_FLOATS
/* x times 1 / (1 + e^-z), which is 1/2 + z * p(z^2) / q(z^2): fitted to 7e-9 for |z| up to 17.4. At
 * 18.2 the quotient is more than 1/2 by two roundings: far below 0 nothing is left of x. */
TILEWRIGHT_INLINE float apply(float x, const float *parameters)
{
    const float z = tilewright_float_larger(
        tilewright_float_smaller(tilewright_float_multiply(parameters[0], x),
                                 tilewright_float_constant(18.2f)),
        tilewright_float_constant(-18.2f));
    const float square = tilewright_float_multiply(z, z);
    float p = tilewright_float_constant(1.34056681e-11f);
    p = tilewright_multiply_add(p, square, tilewright_float_constant(8.14892047e-8f));
    p = tilewright_multiply_add(p, square, tilewright_float_constant(5.48472199e-5f));
    p = tilewright_multiply_add(p, square, tilewright_float_constant(8.37069936e-3f));
    p = tilewright_multiply_add(p, square, tilewright_float_constant(0.249999985f));
    float q = tilewright_float_constant(3.09532955e-9f);
    q = tilewright_multiply_add(q, square, tilewright_float_constant(5.17194849e-6f));
    q = tilewright_multiply_add(q, square, tilewright_float_constant(1.62074692e-3f));
    q = tilewright_multiply_add(q, square, tilewright_float_constant(0.116816059f));
    q = tilewright_multiply_add(q, square, tilewright_float_constant(1.0f));
    const float share =
        tilewright_float_add(tilewright_float_quotient(tilewright_float_multiply(z, p), q),
                             tilewright_float_constant(0.5f));
    return tilewright_float_multiply(
        x, tilewright_float_larger(share, tilewright_float_constant(0.0f)));
}
#else
TILEWRIGHT_INLINE float apply(float x, const float *parameters)
{
    return x / (1.0f + tilewright_exp_of_number(-parameters[0] * x));
}
#endif

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_alpha_f32_attributes *attributes = context;
    const float parameters[] = {attributes->alpha};
    tilewright_heavy_row(at, stride, count, apply, parameters, attributes->minimum,
                         attributes->maximum);
}

void tilewright_swish_f32(const struct tilewright_alpha_f32_attributes *attributes,
                          const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 2, row, attributes);
}
