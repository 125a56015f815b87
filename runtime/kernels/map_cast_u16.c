/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"
#include "tilewright/kernels/to_integer.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_1(cast_u16_##suffix, uint16_t, T, x)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_1(cast_u16_b8, uint16_t, uint8_t, x != 0)
TILEWRIGHT_MAP_1(cast_u16_f32, uint16_t, float, tilewright_float_to_range(x, 0, UINT16_MAX))
