/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_GATHER_H
#define TILEWRIGHT_KERNELS_GATHER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_gather_attributes {
    int32_t element_bytes;
    int32_t index_bytes; /* 4 or 8; indices are signed */
    int32_t axis;
};

/* y at a position is x at the same position, but at `index` on `axis`; negative indices count from
 * the end, others out of range give the nearest element. Operands: x, indices, y, with six axes; x
 * is whole on `axis`, indices of extent 1 broadcast. */
void tilewright_gather(const struct tilewright_gather_attributes *attributes,
                       const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
