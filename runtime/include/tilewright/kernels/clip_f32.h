/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_CLIP_F32_H
#define TILEWRIGHT_KERNELS_CLIP_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_clip_f32_attributes {
    float minimum;
    float maximum;
};

/* y = clamp(x). Operands: x, y, both with six axes. */
void tilewright_clip_f32(const struct tilewright_clip_f32_attributes *attributes,
                         const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
