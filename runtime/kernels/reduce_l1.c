/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/reducer.h"

TILEWRIGHT_REDUCER(l1_f32, float, float, 1, real, 0.0f, s->real + fabsf(x), s->real)
TILEWRIGHT_REDUCER(l1_i32, int32_t, int32_t, 1, integer, 0,
                   (int64_t)((uint64_t)s->integer +
                             (x < 0 ? (uint64_t)0 - (uint64_t)x : (uint64_t)x)),
                   s->integer)
TILEWRIGHT_REDUCER(l1_i64, int64_t, int64_t, 1, integer, 0,
                   (int64_t)((uint64_t)s->integer +
                             (x < 0 ? (uint64_t)0 - (uint64_t)x : (uint64_t)x)),
                   s->integer)
