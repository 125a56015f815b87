/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_MAX_POOL_F32_H
#define TILEWRIGHT_KERNELS_MAX_POOL_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Spatial pairs are (h, w); 1-D pooling has h = 1. */
struct tilewright_max_pool_f32_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    /* Padding in front. */
    int32_t pads[2];
    float minimum;
    float maximum;
};

/* y[n, c, h, w] = clamp(largest x under the window). Padding never wins: a window without input
 * gives -infinity. NaN wins over everything. Operands: x, y. */
void tilewright_max_pool_f32(const struct tilewright_max_pool_f32_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
