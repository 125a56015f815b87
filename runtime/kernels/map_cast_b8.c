/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_1(cast_b8_##suffix, uint8_t, T, x != 0)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_1(cast_b8_b8, uint8_t, uint8_t, x != 0)
TILEWRIGHT_MAP_1(cast_b8_f32, uint8_t, float, x != 0.0f)
