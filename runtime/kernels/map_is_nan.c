/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_1(is_nan_f32, uint8_t, float, x != x)
