/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"
#include "tilewright/kernels/to_integer.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_1(cast_u32_##suffix, uint32_t, T, x)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_1(cast_u32_b8, uint32_t, uint8_t, x != 0)
TILEWRIGHT_MAP_1(cast_u32_f32, uint32_t, float, tilewright_float_to_u32(x))
