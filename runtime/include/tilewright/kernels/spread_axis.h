/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over a tensor with zeros between its elements. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_SPREAD_AXIS_H
#define TILEWRIGHT_KERNELS_SPREAD_AXIS_H

#include "tilewright/kernels/basics.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The position in x that lies `at` steps from its first one where zeros stand between its
 * elements, `spread` steps apart; -1 for such a zero and outside of the tile of x. */
TILEWRIGHT_INLINE int32_t tilewright_spread_source(const struct tilewright_shape *x, int32_t axis,
                                                   int32_t at, int32_t spread)
{
    int32_t position = at;
    if (spread != 1) {
        position = at / spread;
        if (at < 0 || position * spread != at) {
            return -1;
        }
    }
    return position >= x->origin[axis] && position < x->origin[axis] + x->extent[axis] ? position
                                                                                       : -1;
}

#ifdef __cplusplus
}
#endif

#endif
