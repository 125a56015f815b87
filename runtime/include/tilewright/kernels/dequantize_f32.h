/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_DEQUANTIZE_F32_H
#define TILEWRIGHT_KERNELS_DEQUANTIZE_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_dequantize_f32_attributes {
    /* Type of x: 0 int8, 1 uint8, 2 int16, 3 uint16, 4 int32. */
    int32_t element;
    float scale;
    int32_t zero_point;
    float minimum;
    float maximum;
};

/* y = clamp((x - zero_point) * scale). Operands: x, y, both with six axes. */
void tilewright_dequantize_f32(const struct tilewright_dequantize_f32_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
