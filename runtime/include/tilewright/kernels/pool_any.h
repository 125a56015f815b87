/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_POOL_ANY_H
#define TILEWRIGHT_KERNELS_POOL_ANY_H

#include "tilewright/kernels/reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_pool_any_attributes {
    const struct tilewright_reducer *reducer;
    int32_t kernel[3];
    int32_t strides[3];
    int32_t dilations[3];
    int32_t pads[3];
    int32_t limits[3]; /* the first input positions behind what counts, if padding does */
    int32_t include_pads;
    float power;
    int32_t clamped; /* whether the bounds apply; to float only */
    float minimum;
    float maximum;
};

/* A reducer under windows over up to three spatial axes; padding takes no part, but may count.
 * Operands: x, y as n, c, -, d, h, w. */
void tilewright_pool_any(const struct tilewright_pool_any_attributes *attributes,
                         const struct tilewright_view *operands, uint32_t flags);

TILEWRIGHT_REDUCER_NAMED(lp_f32)

#ifdef __cplusplus
}
#endif

#endif
