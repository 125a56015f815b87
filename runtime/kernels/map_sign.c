/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_1(sign_##suffix, T, T, (x > 0) - TILEWRIGHT_NEGATIVE(x))
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_1(sign_f32, float, float, x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x))
