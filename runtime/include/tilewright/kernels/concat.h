/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_CONCAT_H
#define TILEWRIGHT_KERNELS_CONCAT_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_concat_attributes {
    /* 1, 2, 4 or 8. */
    int32_t element_bytes;
    int32_t inputs;
    /* Axis of the views; whole in every tile. */
    int32_t axis;
};

/* Inputs one after the other along an axis. Operands: the inputs, y, all with six axes. */
void tilewright_concat(const struct tilewright_concat_attributes *attributes,
                       const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
