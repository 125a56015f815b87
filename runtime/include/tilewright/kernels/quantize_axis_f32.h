/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_QUANTIZE_AXIS_F32_H
#define TILEWRIGHT_KERNELS_QUANTIZE_AXIS_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_quantize_axis_f32_attributes {
    /* Bytes of an output element: 1 or 2. */
    int32_t element_bytes;
    /* Axis of the views that scales and zero points follow. */
    int32_t axis;
    /* Range of the output's type. */
    int32_t minimum;
    int32_t maximum;
};

/* As tilewright_quantize_f32 with a scale for each index of an axis. Operands: x, float scales,
 * int32 zero points, y; x and y have six axes. */
void tilewright_quantize_axis_f32(const struct tilewright_quantize_axis_f32_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
