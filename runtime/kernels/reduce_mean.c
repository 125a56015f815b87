/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/reducer.h"

TILEWRIGHT_REDUCER(mean_f32, float, float, 1, real, 0.0f, s->real + x, s->real / (float)s->count)
TILEWRIGHT_REDUCER(mean_i32, int32_t, int32_t, 1, integer, 0,
                   (int64_t)((uint64_t)s->integer + (uint64_t)x), s->integer / s->count)
TILEWRIGHT_REDUCER(mean_i64, int64_t, int64_t, 1, integer, 0,
                   (int64_t)((uint64_t)s->integer + (uint64_t)x), s->integer / s->count)
