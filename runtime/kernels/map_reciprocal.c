/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_1(reciprocal_f32, float, float, 1.0f / x)
