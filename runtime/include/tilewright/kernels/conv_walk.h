/* SPDX-License-Identifier: Apache-2.0 */
/* How integer convolutions walk over the images and the groups of channels of a tile. Only for
 * kernels. */
#ifndef TILEWRIGHT_KERNELS_CONV_WALK_H
#define TILEWRIGHT_KERNELS_CONV_WALK_H

#include "tilewright/kernels/basics.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes to one group of channels of one image: in x, and in y. */
struct tilewright_group {
    ptrdiff_t in, out;
};

/* The first group of image `n`. */
TILEWRIGHT_INLINE struct tilewright_group tilewright_first_group(const struct tilewright_shape *x,
                                                                 const struct tilewright_shape *y,
                                                                 int32_t n)
{
    const struct tilewright_group group = {(ptrdiff_t)n * x->stride[0],
                                           (ptrdiff_t)n * y->stride[0]};
    return group;
}

/* Moves to the next group of the image; a group has so many channels in x and in y. */
TILEWRIGHT_INLINE void tilewright_next_group(struct tilewright_group *group,
                                             const struct tilewright_shape *x, int32_t inputs,
                                             const struct tilewright_shape *y, int32_t outputs)
{
    group->in += (ptrdiff_t)inputs * x->stride[1];
    group->out += (ptrdiff_t)outputs * y->stride[1];
}

#ifdef __cplusplus
}
#endif

#endif
