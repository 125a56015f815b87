/* SPDX-License-Identifier: Apache-2.0 */
/* The padded window of x from which a depthwise convolution of 8-bit tensors computes a tile of y.
 * Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_DEPTHWISE_WINDOW_H
#define TILEWRIGHT_KERNELS_DEPTHWISE_WINDOW_H

#include "tilewright/kernels/basics.h"
#include "tilewright/kernels/geometry.h"
#include "tilewright/kernels/integer_core.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Some columns of one channel of y: sums[rows][columns], from a window whose rows are `pitch` bytes
 * apart. Weights are int8, of functions whose name has `wide` int16. */
struct tilewright_depthwise_plane {
    const int8_t *bytes;
    const int8_t *weights;
    int32_t *sums;
    int32_t bias;
    int32_t rows, columns;
    int32_t pitch;
    int32_t step; /* columns of the window between columns of y */
    /* For functions that store elements: where the first one goes, bytes to the next row and to the
     * next column, and the constants of the channel. */
    uint8_t *out;
    int32_t down, across;
    const int32_t *row;
    const struct tilewright_limits *limits;
};

/* One axis of the window, in elements. */
struct tilewright_depthwise_axis {
    int32_t extent; /* elements of the window, padding included */
    int32_t begin;  /* position of the window's first element in the whole of x */
    int32_t first;  /* position of the first element that the tile of x holds, from `begin` on */
    int32_t held;   /* elements that the tile of x holds; below 1: none */
};

/* The window along axis `axis` of [n, c, h, w], which is 2 or 3. */
static inline struct tilewright_depthwise_axis
tilewright_depthwise_axis(const struct tilewright_geometry *geometry,
                          const struct tilewright_shape *in, const struct tilewright_shape *out,
                          int32_t axis)
{
    const int32_t i = axis - 2;
    const int32_t stride = geometry->strides[i];
    const int32_t reach = (geometry->kernel[i] - 1) * geometry->dilations[i] + 1;
    struct tilewright_depthwise_axis window;
    window.extent = (out->extent[axis] - 1) * stride + reach;
    window.begin = out->origin[axis] * stride - geometry->pads[i];
    const int32_t lower = in->origin[axis] - window.begin;
    window.first = lower > 0 ? lower : 0;
    window.held = tilewright_smaller(lower + in->extent[axis], window.extent) - window.first;
    return window;
}

#ifdef __cplusplus
}
#endif

#endif
