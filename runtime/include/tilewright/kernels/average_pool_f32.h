/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_AVERAGE_POOL_F32_H
#define TILEWRIGHT_KERNELS_AVERAGE_POOL_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Spatial pairs are (h, w); 1-D pooling has h = 1. */
struct tilewright_average_pool_f32_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    /* Padding in front. */
    int32_t pads[2];
    /* 1: padding counts too, up to (and without) the input positions `limits`. */
    int32_t include_pads;
    int32_t limits[2];
    float minimum;
    float maximum;
};

/* y[n, c, h, w] = clamp(sum of x under the window / number of counted taps); 0 / 1 if no tap
 * counts. Operands: x, y. */
void tilewright_average_pool_f32(const struct tilewright_average_pool_f32_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
