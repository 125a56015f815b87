/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over one spatial axis, clipped to the input. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_WINDOW_H
#define TILEWRIGHT_KERNELS_WINDOW_H

#include "tilewright/kernels/float_math.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The taps [first, end) of a window that lie in the tile of x; tap k is at position
 * start + k * dilation of the whole tensor. */
struct tilewright_window {
    int32_t start;
    int32_t first;
    int32_t end;
};

/* The window of the output at position `output` of the whole tensor along `axis`. */
TILEWRIGHT_INLINE struct tilewright_window tilewright_window_at(const struct tilewright_shape *x,
                                                                int32_t axis, int32_t output,
                                                                int32_t stride, int32_t pad,
                                                                int32_t kernel, int32_t dilation)
{
    const int32_t lower = x->origin[axis];
    const int32_t upper = lower + x->extent[axis];
    struct tilewright_window window = {output * stride - pad, 0, kernel};
    while (window.first < window.end && window.start + window.first * dilation < lower) {
        window.first++;
    }
    while (window.end > window.first && window.start + (window.end - 1) * dilation >= upper) {
        window.end--;
    }
    return window;
}

/* The position of the whole tensor along `axis` that a tap of a transposed window adds to the
 * output at position `output`; -1 if there is none in the tile of x. */
TILEWRIGHT_INLINE int32_t tilewright_transposed_source(const struct tilewright_shape *x,
                                                       int32_t axis, int32_t output, int32_t stride,
                                                       int32_t pad, int32_t tap, int32_t dilation)
{
    const int32_t reach = output + pad - tap * dilation;
    const int32_t position = reach / stride;
    const int32_t lower = x->origin[axis];
    if (reach < 0 || position * stride != reach || position < lower ||
        position >= lower + x->extent[axis]) {
        return -1;
    }
    return position;
}

#ifdef __cplusplus
}
#endif

#endif
