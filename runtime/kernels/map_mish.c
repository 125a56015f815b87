/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"
#include "tilewright/kernels/power_f32.h"

/* tanh(log(1 + w)) is n / (n + 2) with n = w * (w + 2), here for w = e^x; from 20 on it is 1. */
TILEWRIGHT_INLINE float mish(float x)
{
    const float w = tilewright_exp(x > 20.0f ? 20.0f : x);
    const float n = w * (w + 2.0f);
    return x * (n / (n + 2.0f));
}

TILEWRIGHT_MAP_1(mish_f32, float, float, mish(x))
