/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_2(mul_##suffix, T, T, T, (U)a *(U)b)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_2(mul_f32, float, float, float, a *b)
