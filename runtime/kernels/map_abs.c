/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U)                                                                          \
    TILEWRIGHT_MAP_1(abs_##suffix, T, T, TILEWRIGHT_NEGATIVE(x) ? (U)0 - (U)x : (U)x)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_1(abs_f32, float, float, fabsf(x))
