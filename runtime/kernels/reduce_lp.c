/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/reduce.h"
#include "tilewright/kernels/reducer.h"

/* The kernel of pooling stores the power p in s->largest. */
TILEWRIGHT_REDUCER(lp_f32, float, float, 1, real, 0.0f, s->real + powf(fabsf(x), s->largest),
                   powf(s->real, 1.0f / s->largest))
