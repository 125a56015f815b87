/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U) TILEWRIGHT_MAP_2(bitwise_xor_##suffix, T, T, T, (U)a ^ (U)b)
TILEWRIGHT_FOR_INTEGERS(ROW)
