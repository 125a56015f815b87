/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/elementwise_f32.h"

/* 1 + erf(z) is erfc(-z), which keeps all digits where the result is near 0. */
TILEWRIGHT_INLINE float exact(float x, const float *parameters)
{
    (void)parameters;
    return 0.5f * x * erfcf(x * -0.70710678f);
}

TILEWRIGHT_INLINE float approximate(float x, const float *parameters)
{
    (void)parameters;
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

static void exact_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_clamp_f32_attributes *attributes = context;
    tilewright_unary_row(at, stride, count, exact, NULL, attributes->minimum, attributes->maximum);
}

static void approximate_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                            const void *context)
{
    const struct tilewright_clamp_f32_attributes *attributes = context;
    tilewright_unary_row(at, stride, count, approximate, NULL, attributes->minimum,
                         attributes->maximum);
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
