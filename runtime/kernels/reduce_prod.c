/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/reducer.h"

TILEWRIGHT_REDUCER(prod_f32, float, float, 1, real, 1.0f, s->real *x, s->real)
TILEWRIGHT_REDUCER(prod_i32, int32_t, int32_t, 1, integer, 1,
                   (int64_t)((uint64_t)s->integer *(uint64_t)x), s->integer)
TILEWRIGHT_REDUCER(prod_i64, int64_t, int64_t, 1, integer, 1,
                   (int64_t)((uint64_t)s->integer *(uint64_t)x), s->integer)
