/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of bytes that lie side by side, which need no walk over axes. */
#ifndef TILEWRIGHT_KERNELS_DENSE_H
#define TILEWRIGHT_KERNELS_DENSE_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of elements (bytes) of the operands' box if they lie side by side, in the same order in
 * each operand; else 0. Elements of an operand have addresses of their own, so they lie side by
 * side if the last one is as far from the first one as there are elements between. */
static inline int32_t tilewright_dense_elements(const struct tilewright_view *operands,
                                                int32_t operand_count)
{
    const struct tilewright_shape *first = operands[0].shape;
    int32_t elements = 1, last = 0;
    for (int32_t i = 0; i < operand_count; i++) {
        if (operands[i].shape->ring_rows != 0) {
            return 0;
        }
    }
    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        const int32_t extent = first->extent[axis];
        const int32_t stride = extent > 1 ? first->stride[axis] : 0;
        for (int32_t i = 1; i < operand_count; i++) {
            const struct tilewright_shape *other = operands[i].shape;
            if (other->extent[axis] != extent || (extent > 1 && other->stride[axis] != stride)) {
                return 0;
            }
        }
        if (stride < 0) {
            return 0;
        }
        elements *= extent;
        last += (extent - 1) * stride;
    }
    return last == elements - 1 ? elements : 0;
}

#ifdef __cplusplus
}
#endif

#endif
