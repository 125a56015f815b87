/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/map_rows.h"

void tilewright_line_hardmax_f32(uint8_t *const *at, const int32_t *stride, const int32_t *extent,
                                 const void *context)
{
    float largest = TILEWRIGHT_ELEMENT(float, at[0]);
    int32_t best = 0;

    (void)context;
    for (int32_t i = 1; i < extent[0]; i++) {
        const float value = TILEWRIGHT_ELEMENT(float, at[0] + (ptrdiff_t)i * stride[0]);
        if (value > largest || (value != value && largest == largest)) {
            largest = value;
            best = i;
        }
    }
    for (int32_t i = 0; i < extent[0]; i++) {
        *(float *)(void *)(at[1] + (ptrdiff_t)i * stride[1]) = i == best ? 1.0f : 0.0f;
    }
}
