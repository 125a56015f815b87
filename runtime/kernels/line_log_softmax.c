/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/map_rows.h"

void tilewright_line_log_softmax_f32(uint8_t *const *at, const int32_t *stride,
                                     const int32_t *extent, const void *context)
{
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    float largest = TILEWRIGHT_ELEMENT(float, x);
    float sum = 0.0f;

    (void)context;
    for (int32_t i = 1; i < extent[0]; i++) {
        const float value = TILEWRIGHT_ELEMENT(float, x + (ptrdiff_t)i * stride[0]);
        largest = value > largest ? value : largest;
    }
    for (int32_t i = 0; i < extent[0]; i++) {
        sum += expf(TILEWRIGHT_ELEMENT(float, x + (ptrdiff_t)i * stride[0]) - largest);
    }
    const float log_sum = logf(sum);
    for (int32_t i = 0; i < extent[0]; i++) {
        const float value = TILEWRIGHT_ELEMENT(float, x + (ptrdiff_t)i * stride[0]);
        *(float *)(void *)(y + (ptrdiff_t)i * stride[1]) = value - largest - log_sum;
    }
}
