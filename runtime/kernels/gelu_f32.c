/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/elementwise_f32.h"
#include "tilewright/kernels/power_f32.h"

/* 1 + erf(z) is erfc(-z), which keeps all digits where the result is near 0. */
TILEWRIGHT_INLINE float exact(float x, const float *parameters)
{
    (void)parameters;
    const float tail =
        tilewright_erfc(tilewright_float_multiply(x, tilewright_float_constant(-0.70710678f)));
    return tilewright_float_multiply(tilewright_float_multiply(tilewright_float_constant(0.5f), x),
                                     tail);
}

/* 1 + tanh(z) is 2 / (1 + e^(-2z)). */
TILEWRIGHT_INLINE float approximate(float x, const float *parameters)
{
    (void)parameters;
    const float third = tilewright_float_multiply(
        tilewright_float_multiply(
            tilewright_float_multiply(tilewright_float_constant(0.044715f), x), x),
        x);
    const float power = tilewright_exp(tilewright_float_multiply(
        tilewright_float_constant(-1.59576912f), tilewright_float_add(x, third)));
    return tilewright_float_divide(x, tilewright_float_add(tilewright_float_constant(1.0f), power));
}

/* y = f(x), clamped only where a Clip follows: without an FPU two comparisons take as long as a
 * product. Callers pass a constant for `f`. */
TILEWRIGHT_INLINE void row(uint8_t *const *at, const int32_t *stride, int32_t count,
                           const struct tilewright_clamp_f32_attributes *attributes,
                           tilewright_function_1 f)
{
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    const int clamps = attributes->minimum > -INFINITY || attributes->maximum < INFINITY;
    for (; count > 0; count--) {
        float value = f(tilewright_load_f32(x), NULL);
        if (clamps) {
            value = tilewright_clamp(value, attributes->minimum, attributes->maximum);
        }
        tilewright_store_f32(y, value);
        x += stride[0];
        y += stride[1];
    }
}

static void exact_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    row(at, stride, count, context, exact);
}

static void approximate_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                            const void *context)
{
    row(at, stride, count, context, approximate);
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
