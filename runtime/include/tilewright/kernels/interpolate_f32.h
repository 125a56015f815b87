/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_INTERPOLATE_F32_H
#define TILEWRIGHT_KERNELS_INTERPOLATE_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_interpolate_f32_attributes {
    int32_t axis;
    int32_t taps;
    float outside; /* the result where the index table has -1 */
};

/* y[o] = sum of weights[o][t] * x[indices[o][t]] along one axis, which is whole. Operands: x, table
 * of indices (int32_t, outputs by taps), table of weights (float, likewise), y; x and y with six
 * axes. */
void tilewright_interpolate_f32(const struct tilewright_interpolate_f32_attributes *attributes,
                                const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
