/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U)                                                                          \
    TILEWRIGHT_MAP_2(prelu_##suffix, T, T, T, TILEWRIGHT_NEGATIVE(a) ? (U)a *(U)b : (U)a)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_2(prelu_f32, float, float, float, a < 0.0f ? a * b : a)
