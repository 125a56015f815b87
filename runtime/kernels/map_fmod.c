/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U)                                                                          \
    TILEWRIGHT_MAP_2(fmod_##suffix, T, T, T,                                                       \
                     b == 0 || (TILEWRIGHT_NEGATIVE(b) && (U)b + 1u == 0) ? 0 : a % b)
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_2(fmod_f32, float, float, float, fmodf(a, b))
