/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_SUB_F32_H
#define TILEWRIGHT_KERNELS_SUB_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_sub_f32_attributes {
    float minimum;
    float maximum;
};

/* y = clamp(a - b); axes of extent 1 broadcast. Operands: a, b, y, all with six axes. */
void tilewright_sub_f32(const struct tilewright_sub_f32_attributes *attributes,
                        const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
