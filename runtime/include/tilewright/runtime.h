/* SPDX-License-Identifier: Apache-2.0 */
/* What generated code and kernels share: strided views of tiles. */
#ifndef TILEWRIGHT_RUNTIME_H
#define TILEWRIGHT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TILEWRIGHT_MAX_RANK 6

/* The geometry of one operand's tile. Axes are the logical axes of the kernel's view, in any
 * memory order; strides are bytes. `origin` is the position of the tile's first element in
 * the whole tensor, so padding left on a side follows from origins and the kernel's attributes.
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

/* Partial results: a cut reduction starts at FIRST and is complete at LAST. */
#define TILEWRIGHT_FIRST 1u
#define TILEWRIGHT_LAST 2u
#define TILEWRIGHT_WHOLE (TILEWRIGHT_FIRST | TILEWRIGHT_LAST)

/* Address of global row `row` on `axis`, other axes at the tile's first element. */
static inline uint8_t *tilewright_row(const struct tilewright_view *view, int32_t axis, int32_t row)
{
    const struct tilewright_shape *shape = view->shape;
    int32_t slot = row - shape->origin[axis];
    if (shape->ring_rows != 0 && shape->ring_axis == axis) {
        slot = row % shape->ring_rows;
    }
    return view->base + (ptrdiff_t)slot * shape->stride[axis];
}

#ifdef __cplusplus
}
#endif

#endif
