/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a box of up to TILEWRIGHT_MAX_RANK axes row by row over several strided operands.
 * What elementwise, movement and matrix kernels have in common: broadcasting, rings, and merging
 * of axes that are contiguous in every operand. */
#ifndef TILEWRIGHT_KERNELS_WALK_H
#define TILEWRIGHT_KERNELS_WALK_H

#include "tilewright/kernels/functions.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TILEWRIGHT_WALK_OPERANDS 4

/* Where an operand is for each index of the box: i strides from the base, but on the axis of a
 * ring, where the stride is in rows: index i is at slot (ring_first + i * stride) % ring_rows. */
struct tilewright_walk_operand {
    uint8_t *base;
    int32_t stride[TILEWRIGHT_MAX_RANK];
    const struct tilewright_shape *ring; /* NULL: none */
    int32_t ring_first;
};

/* Makes the operand that whose element for box index i of an axis is that of the tensor at
 * first + step * i. An axis of extent 1 stays where it is (broadcasting). Null first: the tile's
 * origin; null step: 1. */
void tilewright_walk_set(struct tilewright_walk_operand *operand,
                         const struct tilewright_view *view, const int32_t *first,
                         const int32_t *step);

/* The same by value, which is on the stack twice meanwhile. */
static inline struct tilewright_walk_operand
tilewright_walk_view(const struct tilewright_view *view, const int32_t *first, const int32_t *step)
{
    struct tilewright_walk_operand operand;
    tilewright_walk_set(&operand, view, first, step);
    return operand;
}

/* Calls `row` for every row of the box; rows run along the axis on which the last operand is
 * densest. Nothing is called for an empty box. */
void tilewright_walk(const struct tilewright_walk_operand *operands, int32_t operand_count,
                     const int32_t *extent, tilewright_row_function row, const void *context);

#ifdef __cplusplus
}
#endif

#endif
