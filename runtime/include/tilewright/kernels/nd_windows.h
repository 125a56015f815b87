/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over up to three spatial axes. Views are n, c, -, d, h, w. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_ND_WINDOWS_H
#define TILEWRIGHT_KERNELS_ND_WINDOWS_H

#include "tilewright/kernels/geometry.h"
#include "tilewright/kernels/window.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TILEWRIGHT_ND_N = 0, TILEWRIGHT_ND_C = 1, TILEWRIGHT_ND_SPATIAL = 3 };

/* The taps of the window at spatial position `at` that meet the tile of x. */
TILEWRIGHT_INLINE void tilewright_nd_windows(const struct tilewright_geometry *geometry,
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

/* Bytes from the tile's first element of an image and channel to the one at `at`. */
TILEWRIGHT_INLINE ptrdiff_t tilewright_nd_offset(const struct tilewright_shape *shape,
                                                 const int32_t *at)
{
    return tilewright_axis_offset(shape, 3, at[0]) + tilewright_axis_offset(shape, 4, at[1]) +
           tilewright_axis_offset(shape, 5, at[2]);
}

/* Bytes from the tile's base to an image and channel. */
TILEWRIGHT_INLINE ptrdiff_t tilewright_nd_plane(const struct tilewright_shape *shape, int32_t n,
                                                int32_t channel)
{
    return tilewright_axis_offset(shape, TILEWRIGHT_ND_N, n) +
           tilewright_axis_offset(shape, TILEWRIGHT_ND_C, channel);
}

/* One output of pooling: its position, what lies in its windows, where x's image and channel begin,
 * and where the output goes. */
struct tilewright_nd_output {
    int32_t n, channel, at[3];
    struct tilewright_window windows[3];
    const uint8_t *x;
    uint8_t *y;
};

/* Calls `pool` for each output of the tile. Operands: x, y, and what else `pool` knows. */
TILEWRIGHT_INLINE void tilewright_nd_pool(const struct tilewright_geometry *geometry,
                                          const struct tilewright_view *operands,
                                          void (*pool)(const void *attributes,
                                                       const struct tilewright_view *operands,
                                                       const struct tilewright_nd_output *output),
                                          const void *attributes)
{
    const struct tilewright_shape *x = operands[0].shape;
    const struct tilewright_shape *y = operands[1].shape;
    struct tilewright_nd_output output;
    const int32_t end = y->origin[TILEWRIGHT_ND_N] + y->extent[TILEWRIGHT_ND_N];
    const int32_t last = y->origin[TILEWRIGHT_ND_C] + y->extent[TILEWRIGHT_ND_C];

    for (output.n = y->origin[TILEWRIGHT_ND_N]; output.n < end; output.n++) {
        for (output.channel = y->origin[TILEWRIGHT_ND_C]; output.channel < last; output.channel++) {
            uint8_t *to = operands[1].base + tilewright_nd_plane(y, output.n, output.channel);
            output.x = operands[0].base + tilewright_nd_plane(x, output.n, output.channel);
            tilewright_nd_first(y, output.at);
            do {
                tilewright_nd_windows(geometry, x, output.at, output.windows);
                output.y = to + tilewright_nd_offset(y, output.at);
                pool(attributes, operands, &output);
            } while (tilewright_nd_next(y, output.at));
        }
    }
}

#ifdef __cplusplus
}
#endif

#endif
