/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/map_rows.h"

void tilewright_line_lp_normalization_f32(uint8_t *const *at, const int32_t *stride,
                                          const int32_t *extent, const void *context)
{
    const struct tilewright_line_attributes *attributes = context;
    const int32_t p = attributes->parameters[0];
    float norm = 0.0f;

    for (int32_t i = 0; i < extent[0]; i++) {
        const float value = TILEWRIGHT_ELEMENT(float, at[0] + (ptrdiff_t)i * stride[0]);
        norm += p == 1 ? fabsf(value) : value * value;
    }
    norm = p == 1 ? norm : sqrtf(norm);
    for (int32_t i = 0; i < extent[0]; i++) {
        const float value = TILEWRIGHT_ELEMENT(float, at[0] + (ptrdiff_t)i * stride[0]);
        *(float *)(void *)(at[1] + (ptrdiff_t)i * stride[1]) = norm == 0.0f ? 0.0f : value / norm;
    }
}
