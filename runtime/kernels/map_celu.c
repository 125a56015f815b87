/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_1(celu_f32, float, float, x < 0.0f ? p[0] * expm1f(x / p[0]) : x)
