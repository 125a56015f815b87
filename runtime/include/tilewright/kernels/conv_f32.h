/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_CONV_F32_H
#define TILEWRIGHT_KERNELS_CONV_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Spatial pairs are (h, w); a 1-D convolution has h = 1. */
struct tilewright_conv_f32_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    /* Padding in front. */
    int32_t pads[2];
    /* Channels in one group. */
    int32_t group_inputs;
    int32_t group_outputs;
    /* Output positions gathered side by side, 4 or 1; 0 for a 1x1 kernel without padding, which
     * reads its input in place and needs no scratch. */
    int32_t gather;
    float minimum;
    float maximum;
};

/* y[n, c, h, w] = clamp(bias + sum of weights * x). Operands: x[n, c, h, w]; weights
 * [group][outputs / 4][kernel h][kernel w][inputs][4] and biases [group][outputs / 4][4], zeros
 * behind the last channel; y; scratch of 4 * gather bytes for each tap. Partial results, where
 * inputs of the only group are cut: 16 bytes for 4 channels of an output position.
 * A tile has whole groups, or one group or a part of it from a multiple of 4 on. */
void tilewright_conv_f32(const struct tilewright_conv_f32_attributes *attributes,
                         const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
