/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_1(bitwise_not_##suffix, T, T, ~(U)x)
TILEWRIGHT_FOR_INTEGERS(ROW)
