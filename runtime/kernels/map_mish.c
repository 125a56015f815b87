/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_1(mish_f32, float, float, x *tanhf((x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x)))))
