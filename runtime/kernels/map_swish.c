/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_1(swish_f32, float, float, x / (1.0f + expf(-p[0] * x)))
