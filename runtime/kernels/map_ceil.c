/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_1(ceil_f32, float, float, ceilf(x))
