/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_HARD_SIGMOID_F32_H
#define TILEWRIGHT_KERNELS_HARD_SIGMOID_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_hard_sigmoid_f32_attributes {
    float alpha;
    float beta;
    float minimum;
    float maximum;
};

/* y = clamp(max(0, min(1, alpha * x + beta))). Operands: x, y, both with six axes. */
void tilewright_hard_sigmoid_f32(const struct tilewright_hard_sigmoid_f32_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
