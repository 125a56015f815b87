/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_LEAKY_RELU_F32_H
#define TILEWRIGHT_KERNELS_LEAKY_RELU_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_leaky_relu_f32_attributes {
    float alpha;
    float minimum;
    float maximum;
};

/* y = clamp(x < 0 ? alpha * x : x). Operands: x, y, both with six axes. */
void tilewright_leaky_relu_f32(const struct tilewright_leaky_relu_f32_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
