/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U)                                                                          \
    TILEWRIGHT_MAP_2(shift_left_##suffix, T, T, T,                                                 \
                     (uint64_t)b >= 8u * sizeof(T) ? (U)0 : (U)a << (U)b)
TILEWRIGHT_FOR_INTEGERS(ROW)
