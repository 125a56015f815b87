/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_CONV_ANY_H
#define TILEWRIGHT_KERNELS_CONV_ANY_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_conv_any_attributes {
    int32_t kernel[3];
    int32_t strides[3];
    int32_t dilations[3];
    int32_t pads[3];
    int32_t group_inputs;
    int32_t group_outputs;
    int32_t integer; /* elements are int32_t, else float */
    int32_t biased;
    float minimum; /* of float results */
    float maximum;
};

/* Convolution over up to three spatial axes with weights that need not be constant. Operands: x, w,
 * bias if there is one, y; x and y as n, c, -, d, h, w, weights as output channel, input channel of
 * the group, -, d, h, w, the bias on axis 1. */
void tilewright_conv_any(const struct tilewright_conv_any_attributes *attributes,
                         const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
