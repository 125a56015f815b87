/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_HARD_SWISH_F32_H
#define TILEWRIGHT_KERNELS_HARD_SWISH_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_hard_swish_f32_attributes {
    float minimum;
    float maximum;
};

/* y = clamp(x * max(0, min(1, x / 6 + 0.5))). Operands: x, y, both with six axes. */
void tilewright_hard_swish_f32(const struct tilewright_hard_swish_f32_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
