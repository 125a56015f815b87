/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_TANH_F32_H
#define TILEWRIGHT_KERNELS_TANH_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_tanh_f32_attributes {
    float minimum;
    float maximum;
};

/* y = clamp(tanh(x)). Operands: x, y, both with six axes. */
void tilewright_tanh_f32(const struct tilewright_tanh_f32_attributes *attributes,
                         const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
