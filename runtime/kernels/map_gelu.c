/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_1(gelu_f32, float, float, 0.5f * x * (1.0f + erff(x * 0.70710678f)))
