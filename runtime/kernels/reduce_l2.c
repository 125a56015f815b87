/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/reducer.h"

TILEWRIGHT_REDUCER(l2_f32, float, float, 1, real, 0.0f, s->real + x * x, sqrtf(s->real))
