/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_1(is_inf_f32, uint8_t, float,
                 x - x != x - x && x == x && (x > 0.0f ? p[0] : p[1]) != 0.0f)
