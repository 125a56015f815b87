/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_DEQUANTIZE_AXIS_F32_H
#define TILEWRIGHT_KERNELS_DEQUANTIZE_AXIS_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_dequantize_axis_f32_attributes {
    /* Type of x: 0 int8, 1 uint8, 2 int16, 3 uint16, 4 int32. */
    int32_t element;
    /* Axis of the views that scales and zero points follow. */
    int32_t axis;
    float minimum;
    float maximum;
};

/* As tilewright_dequantize_f32 with a scale for each index of an axis. Operands: x, float scales,
 * int32 zero points, y; x and y have six axes. */
void tilewright_dequantize_axis_f32(
    const struct tilewright_dequantize_axis_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
