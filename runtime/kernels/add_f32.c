/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/elementwise_f32.h"

TILEWRIGHT_INLINE float apply(float a, float b)
{
    return tilewright_float_add(a, b);
}

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_clamp_f32_attributes *attributes = context;
    tilewright_binary_row(at, stride, count, apply, attributes->minimum, attributes->maximum);
}

void tilewright_add_f32(const struct tilewright_clamp_f32_attributes *attributes,
                        const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 3, row, attributes);
}
