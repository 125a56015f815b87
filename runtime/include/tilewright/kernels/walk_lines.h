/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the lines along one axis of two views whose other axes have the same extents: for kernels
 * that need a whole line at once (normalisations, softmax, interpolation). */
#ifndef TILEWRIGHT_KERNELS_WALK_LINES_H
#define TILEWRIGHT_KERNELS_WALK_LINES_H

#include "tilewright/kernels/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handles the line of x that starts at `x` and the line of y that starts at `y`. */
typedef void (*tilewright_pair_function)(const void *context, const uint8_t *x, uint8_t *y);

struct tilewright_line_call {
    tilewright_pair_function line;
    const void *context;
};

static inline void tilewright_call_lines(uint8_t *const *at, const int32_t *stride, int32_t count,
                                         const void *call)
{
    const struct tilewright_line_call *to = (const struct tilewright_line_call *)call;

    for (int32_t i = 0; i < count; i++) {
        to->line(to->context, at[0] + (ptrdiff_t)i * stride[0], at[1] + (ptrdiff_t)i * stride[1]);
    }
}

/* Calls `line` once for each line along `axis`. */
static inline void tilewright_walk_lines(const struct tilewright_view *x,
                                         const struct tilewright_view *y, int32_t axis,
                                         tilewright_pair_function line, const void *context)
{
    struct tilewright_walk_operand walked[2];
    const struct tilewright_line_call call = {line, context};
    int32_t extent[TILEWRIGHT_MAX_RANK];

    for (int32_t i = 0; i < TILEWRIGHT_MAX_RANK; i++) {
        extent[i] = i == axis ? 1 : y->shape->extent[i];
    }
    tilewright_walk_set(&walked[0], x, NULL, NULL);
    tilewright_walk_set(&walked[1], y, NULL, NULL);
    tilewright_walk(walked, 2, extent, tilewright_call_lines, &call);
}

#ifdef __cplusplus
}
#endif

#endif
