/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"
#include "tilewright/kernels/to_integer.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_1(cast_i8_##suffix, int8_t, T, x)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_1(cast_i8_b8, int8_t, uint8_t, x != 0)
TILEWRIGHT_MAP_1(cast_i8_f32, int8_t, float, tilewright_float_to_range(x, INT8_MIN, INT8_MAX))
