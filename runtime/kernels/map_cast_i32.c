/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"
#include "tilewright/kernels/to_integer.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_1(cast_i32_##suffix, int32_t, T, x)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_1(cast_i32_b8, int32_t, uint8_t, x != 0)
TILEWRIGHT_MAP_1(cast_i32_f32, int32_t, float, tilewright_float_to_range(x, INT32_MIN, INT32_MAX))
