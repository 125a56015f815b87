/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U)                                                                          \
    TILEWRIGHT_MAP_2(                                                                              \
        div_##suffix, T, T, T,                                                                     \
        b == 0 ? (U)0 : (TILEWRIGHT_NEGATIVE(b) && (U)b + 1u == 0 ? (U)0 - (U)a : (U)(a / b)))
TILEWRIGHT_FOR_INTEGERS(ROW)
