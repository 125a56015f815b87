/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_1(thresholded_relu_f32, float, float, x > p[0] ? x : 0.0f)
