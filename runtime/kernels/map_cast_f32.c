/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_1(cast_f32_##suffix, float, T, x)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_1(cast_f32_b8, float, uint8_t, x != 0 ? 1.0f : 0.0f)
TILEWRIGHT_MAP_1(cast_f32_f32, float, float, x)
