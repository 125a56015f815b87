/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_CONV_TRANSPOSE_F32_H
#define TILEWRIGHT_KERNELS_CONV_TRANSPOSE_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_conv_transpose_f32_attributes {
    int32_t kernel[3];
    int32_t strides[3];
    int32_t dilations[3];
    int32_t pads[3];
    int32_t group_inputs;
    int32_t group_outputs;
    int32_t biased;
};

/* Transposed convolution: x at i adds to y at i * stride + k * dilation - pad. Operands: x, w, bias
 * if there is one, y; x and y as n, c, -, d, h, w, weights as input channel, output channel of the
 * group, -, d, h, w, the bias on axis 1. */
void tilewright_conv_transpose_f32(
    const struct tilewright_conv_transpose_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
