/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_2(less_##suffix, uint8_t, T, T, a < b)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_2(less_f32, uint8_t, float, float, a < b)
TILEWRIGHT_MAP_2(less_b8, uint8_t, uint8_t, uint8_t, a < b)
