/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_MAX_POOL_INDICES_H
#define TILEWRIGHT_KERNELS_MAX_POOL_INDICES_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_max_pool_indices_attributes {
    int32_t kernel[3];
    int32_t strides[3];
    int32_t dilations[3];
    int32_t pads[3];
    int32_t steps[3]; /* of the flat index along each spatial axis */
    int32_t channels; /* of the whole tensor */
    int32_t image;    /* elements of one channel */
    int32_t element;  /* 0: float, 1: int8_t, 2: uint8_t */
};

/* The largest element under each window and its index in the whole input, int64_t. Operands: x, y,
 * indices as n, c, -, d, h, w. */
void tilewright_max_pool_indices(const struct tilewright_max_pool_indices_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
