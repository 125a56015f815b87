/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over up to three spatial axes. Views are n, c, -, d, h, w. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_ND_WINDOWS_H
#define TILEWRIGHT_KERNELS_ND_WINDOWS_H

#include "tilewright/kernels/window.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TILEWRIGHT_ND_N = 0, TILEWRIGHT_ND_C = 1, TILEWRIGHT_ND_SPATIAL = 3 };

struct tilewright_nd_geometry {
    const int32_t *kernel;
    const int32_t *strides;
    const int32_t *dilations;
    const int32_t *pads;
};

/* The taps of the window at spatial position `at` that meet the tile of x. */
TILEWRIGHT_INLINE void tilewright_nd_windows(const struct tilewright_nd_geometry *geometry,
                                             const struct tilewright_shape *x, const int32_t *at,
                                             struct tilewright_window *windows)
{
    for (int32_t i = 0; i < 3; i++) {
        windows[i] =
            tilewright_window_at(x, TILEWRIGHT_ND_SPATIAL + i, at[i], geometry->strides[i],
                                 geometry->pads[i], geometry->kernel[i], geometry->dilations[i]);
    }
}

/* Moves `at` to the next spatial position of the tile of y; returns 0 behind the last position. */
TILEWRIGHT_INLINE int tilewright_nd_next(const struct tilewright_shape *y, int32_t *at)
{
    for (int32_t i = 2; i >= 0; i--) {
        const int32_t axis = TILEWRIGHT_ND_SPATIAL + i;
        if (++at[i] < y->origin[axis] + y->extent[axis]) {
            return 1;
        }
        at[i] = y->origin[axis];
    }
    return 0;
}

TILEWRIGHT_INLINE void tilewright_nd_first(const struct tilewright_shape *y, int32_t *at)
{
    for (int32_t i = 0; i < 3; i++) {
        at[i] = y->origin[TILEWRIGHT_ND_SPATIAL + i];
    }
}

TILEWRIGHT_INLINE ptrdiff_t tilewright_nd_offset(const struct tilewright_shape *shape,
                                                 const int32_t *at)
{
    return tilewright_axis_offset(shape, 3, at[0]) + tilewright_axis_offset(shape, 4, at[1]) +
           tilewright_axis_offset(shape, 5, at[2]);
}

#ifdef __cplusplus
}
#endif

#endif
