/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_QUANTIZE_F32_H
#define TILEWRIGHT_KERNELS_QUANTIZE_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_quantize_f32_attributes {
    /* Bytes of an output element: 1 or 2. */
    int32_t element_bytes;
    float scale;
    int32_t zero_point;
    /* Range of the output's type. */
    int32_t minimum;
    int32_t maximum;
};

/* y = clip(round_half_even(x / scale) + zero_point). Operands: x, y, both with six axes. */
void tilewright_quantize_f32(const struct tilewright_quantize_f32_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
