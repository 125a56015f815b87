/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_COPY_H
#define TILEWRIGHT_KERNELS_COPY_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_copy_attributes {
    /* 1, 2, 4 or 8. */
    int32_t element_bytes;
    /* Element i of the output along an axis is element starts + steps * i of the input. */
    int32_t starts[TILEWRIGHT_MAX_RANK];
    int32_t steps[TILEWRIGHT_MAX_RANK];
};

/* Copies, permutes (by the order of the views' axes) and slices. Operands: x, y, both with six
 * axes that correspond. */
void tilewright_copy(const struct tilewright_copy_attributes *attributes,
                     const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
