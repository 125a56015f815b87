/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"
#include "tilewright/kernels/to_integer.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_1(cast_i16_##suffix, int16_t, T, x)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_1(cast_i16_b8, int16_t, uint8_t, x != 0)
TILEWRIGHT_MAP_1(cast_i16_f32, int16_t, float, tilewright_float_to_range(x, INT16_MIN, INT16_MAX))
