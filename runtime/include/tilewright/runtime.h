/* SPDX-License-Identifier: Apache-2.0 */
/* Strided views of tiles, which generated code passes to kernels. */
#ifndef TILEWRIGHT_RUNTIME_H
#define TILEWRIGHT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TILEWRIGHT_MAX_RANK 6

/* The geometry of one operand's tile. Axes are the kernel's logical axes, in any memory order;
 * strides are bytes. `origin` is the position of the tile's first element in the whole tensor;
 * from origins and its attributes a kernel computes how much padding its tile has on each side.
 * If ring_rows is not 0, the rows of axis ring_axis live in a ring: global row r is at
 * base + (r % ring_rows) * stride[ring_axis], and base is the ring's start. */
struct tilewright_shape {
    int32_t stride[TILEWRIGHT_MAX_RANK];
    int32_t extent[TILEWRIGHT_MAX_RANK];
    int32_t origin[TILEWRIGHT_MAX_RANK];
    int32_t ring_axis;
    int32_t ring_rows;
};

/* One operand of a kernel call. Packed constants and scratch have no shape. */
struct tilewright_view {
    uint8_t *base;
    const struct tilewright_shape *shape;
};

/* Flags of a call that computes a part of a cut reduction: the first part starts the sums, the last
 * part completes them; parts between have neither flag. */
#define TILEWRIGHT_FIRST 1u
#define TILEWRIGHT_LAST 2u
#define TILEWRIGHT_WHOLE (TILEWRIGHT_FIRST | TILEWRIGHT_LAST)

/* Address of the element at position `row` of the whole tensor on `axis`, and at the tile's first
 * position on all other axes. */
static inline uint8_t *tilewright_row(const struct tilewright_view *view, int32_t axis, int32_t row)
{
    const struct tilewright_shape *shape = view->shape;
    int32_t slot = row - shape->origin[axis];
    if (shape->ring_rows != 0 && shape->ring_axis == axis) {
        slot = row % shape->ring_rows;
    }
    return view->base + (ptrdiff_t)slot * shape->stride[axis];
}

/* How many of the `count` rows from `row` on lie one stride behind each other: all, or in a ring
 * those before its end. */
static inline int32_t tilewright_rows_in_line(const struct tilewright_view *view, int32_t axis,
                                              int32_t row, int32_t count)
{
    const struct tilewright_shape *shape = view->shape;
    if (shape->ring_rows == 0 || shape->ring_axis != axis) {
        return count;
    }
    const int32_t left = shape->ring_rows - row % shape->ring_rows;
    return left < count ? left : count;
}

#ifdef __cplusplus
}
#endif

#endif
