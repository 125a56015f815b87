/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_RESHAPE_H
#define TILEWRIGHT_KERNELS_RESHAPE_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_reshape_attributes {
    /* 1, 2, 4 or 8. */
    int32_t element_bytes;
    /* Extents of the whole tensors, not of their tiles. */
    int32_t x_extents[TILEWRIGHT_MAX_RANK];
    int32_t y_extents[TILEWRIGHT_MAX_RANK];
};

/* The same elements, in row-major order, under another shape. Operands: x, y, both with six
 * axes. */
void tilewright_reshape(const struct tilewright_reshape_attributes *attributes,
                        const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
