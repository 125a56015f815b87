/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/elementwise_f32.h"
#include "tilewright/kernels/power_f32.h"

/* x times the normal distribution function, which is 1/2 + z * p(z^2) / q(z^2): fitted to 6e-9 for
 * |z| up to 5.4. From there on it is 1, or 0: what roundings leave beyond is cut off. */
TILEWRIGHT_INLINE float exact(float x, const float *parameters)
{
    (void)parameters;
    const float z =
        tilewright_float_larger(tilewright_float_smaller(x, tilewright_float_constant(5.45f)),
                                tilewright_float_constant(-5.45f));
    const float square = tilewright_float_multiply(z, z);
    float p = tilewright_float_constant(2.33867607e-8f);
    p = tilewright_multiply_add(p, square, tilewright_float_constant(6.36002702e-6f));
    p = tilewright_multiply_add(p, square, tilewright_float_constant(1.64321925e-4f));
    p = tilewright_multiply_add(p, square, tilewright_float_constant(4.65085281e-3f));
    p = tilewright_multiply_add(p, square, tilewright_float_constant(3.3372244e-2f));
    p = tilewright_multiply_add(p, square, tilewright_float_constant(0.398942245f));
    float q = tilewright_float_constant(1.21659227e-6f);
    q = tilewright_multiply_add(q, square, tilewright_float_constant(7.24002851e-5f));
    q = tilewright_multiply_add(q, square, tilewright_float_constant(1.85898287e-3f));
    q = tilewright_multiply_add(q, square, tilewright_float_constant(2.83786979e-2f));
    q = tilewright_multiply_add(q, square, tilewright_float_constant(0.250317899f));
    q = tilewright_multiply_add(q, square, tilewright_float_constant(1.0f));
    const float share =
        tilewright_float_add(tilewright_float_quotient(tilewright_float_multiply(z, p), q),
                             tilewright_float_constant(0.5f));
    return tilewright_float_multiply(
        x, tilewright_float_smaller(tilewright_float_larger(share, tilewright_float_constant(0.0f)),
                                    tilewright_float_constant(1.0f)));
}

/* 1 + tanh(z) is 2 / (1 + e^(-2z)). */
TILEWRIGHT_INLINE float approximate(float x, const float *parameters)
{
    (void)parameters;
    const float third = tilewright_float_multiply(
        tilewright_float_multiply(
            tilewright_float_multiply(tilewright_float_constant(0.044715f), x), x),
        x);
    const float power = tilewright_exp_of_number(tilewright_float_multiply(
        tilewright_float_constant(-1.59576912f), tilewright_float_add(x, third)));
    return tilewright_float_quotient(x,
                                     tilewright_float_add(tilewright_float_constant(1.0f), power));
}

static void exact_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_clamp_f32_attributes *clamp = context;
    tilewright_heavy_row(at, stride, count, exact, NULL, clamp->minimum, clamp->maximum);
}

static void approximate_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                            const void *context)
{
    const struct tilewright_clamp_f32_attributes *clamp = context;
    tilewright_heavy_row(at, stride, count, approximate, NULL, clamp->minimum, clamp->maximum);
}

void tilewright_gelu_f32(const struct tilewright_clamp_f32_attributes *attributes,
                         const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 2, exact_row, attributes);
}

void tilewright_gelu_tanh_f32(const struct tilewright_clamp_f32_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 2, approximate_row, attributes);
}
