/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"
#include "tilewright/kernels/power_f32.h"

TILEWRIGHT_MAP_1(elu_f32, float, float, x < 0.0f ? p[0] * tilewright_exp_less_one(x) : x)
