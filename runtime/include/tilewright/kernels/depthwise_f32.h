/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_DEPTHWISE_F32_H
#define TILEWRIGHT_KERNELS_DEPTHWISE_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Spatial pairs are (h, w); a 1-D convolution has h = 1. */
struct tilewright_depthwise_f32_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    /* Padding in front. */
    int32_t pads[2];
    float minimum;
    float maximum;
};

/* Convolution with one input and one output channel in each group. Operands: x[n, c, h, w];
 * weights [c / 4][1 + taps][4], bias first, taps in the order (kernel h, kernel w), zeros behind
 * the last channel; y. A tile's channels begin at a multiple of 4. */
void tilewright_depthwise_f32(const struct tilewright_depthwise_f32_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
