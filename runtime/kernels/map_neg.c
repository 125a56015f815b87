/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_1(neg_##suffix, T, T, (U)0 - (U)x)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_1(neg_f32, float, float, -x)
