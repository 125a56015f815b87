/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_1(shrink_f32, float, float, x < -p[1] ? x + p[0] : (x > p[1] ? x - p[0] : 0.0f))
