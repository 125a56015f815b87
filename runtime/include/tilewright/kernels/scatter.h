/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_SCATTER_H
#define TILEWRIGHT_KERNELS_SCATTER_H

#include "tilewright/kernels/map.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_scatter_attributes {
    int32_t element_bytes;
    int32_t index_bytes; /* 4 or 8; indices are signed */
    int32_t axis;
    tilewright_row_function combine; /* y = combine(y, update) of one element; null replaces it */
};

/* y is x with the updates at their indices on `axis`, combined one after the other. Operands: x,
 * indices, updates, y, with six axes; x and y are whole on `axis`, indices broadcast to updates. */
void tilewright_scatter(const struct tilewright_scatter_attributes *attributes,
                        const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
