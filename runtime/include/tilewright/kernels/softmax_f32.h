/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_SOFTMAX_F32_H
#define TILEWRIGHT_KERNELS_SOFTMAX_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_softmax_f32_attributes {
    /* Axis of the view; whole in every tile. */
    int32_t axis;
    float minimum;
    float maximum;
};

/* y = clamp(exp(x - largest x) / sum of those) along one axis. Operands: x, y, both with six
 * axes. */
void tilewright_softmax_f32(const struct tilewright_softmax_f32_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
