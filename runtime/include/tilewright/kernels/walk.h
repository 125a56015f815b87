/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a box of up to TILEWRIGHT_MAX_RANK axes row by row over several strided operands, for
 * elementwise, movement and matrix kernels. The walk broadcasts, follows rings, and merges axes
 * that are contiguous in every operand. */
#ifndef TILEWRIGHT_KERNELS_WALK_H
#define TILEWRIGHT_KERNELS_WALK_H

#include "tilewright/kernels/basics.h"
#include "tilewright/kernels/functions.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TILEWRIGHT_WALK_OPERANDS 4

/* The address of an operand's element for each index of the box: index i of an axis adds i * stride
 * bytes to the base. On the axis of a ring the stride is in rows, and index i adds the bytes of row
 * (ring_first + i * stride) % ring_rows. */
struct tilewright_walk_operand {
    uint8_t *base;
    int32_t stride[TILEWRIGHT_MAX_RANK];
    const struct tilewright_shape *ring; /* NULL: none */
    int32_t ring_first;
};

/* Sets an operand so that index i of an axis of the box is position first[axis] + step[axis] * i of
 * the tensor. An axis of extent 1 does not move (broadcasting). If `first` is NULL, it is the
 * tile's origin; if `step` is NULL, all steps are 1. */
void tilewright_walk_set(struct tilewright_walk_operand *operand,
                         const struct tilewright_view *view, const int32_t *first,
                         const int32_t *step);

/* As tilewright_walk_set, by value; the operand is on the stack twice during the call. */
static inline struct tilewright_walk_operand
tilewright_walk_view(const struct tilewright_view *view, const int32_t *first, const int32_t *step)
{
    struct tilewright_walk_operand operand;
    tilewright_walk_set(&operand, view, first, step);
    return operand;
}

/* Calls `row` for every row of the box; rows run along the axis with the last operand's smallest
 * stride. An empty box has no rows. */
void tilewright_walk(const struct tilewright_walk_operand *operands, int32_t operand_count,
                     const int32_t *extent, tilewright_row_function row, const void *context);

/* The same for the rows of a and b, which are operands 0 and 1, and of y: the whole of their tiles.
 */
TILEWRIGHT_INLINE void tilewright_walk_pair(const struct tilewright_view *operands,
                                            const struct tilewright_view *y,
                                            tilewright_row_function row, const void *context)
{
    struct tilewright_walk_operand walked[3];
    tilewright_walk_set(&walked[0], &operands[0], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[1], NULL, NULL);
    tilewright_walk_set(&walked[2], y, NULL, NULL);
    tilewright_walk(walked, 3, y->shape->extent, row, context);
}

#ifdef __cplusplus
}
#endif

#endif
