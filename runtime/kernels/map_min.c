/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_2(min_##suffix, T, T, T, a < b ? a : b)
TILEWRIGHT_FOR_INTEGERS(ROW)
/* NaN if a or b is NaN. */
TILEWRIGHT_MAP_2(min_f32, float, float, float, a < b || a != a ? a : b)
