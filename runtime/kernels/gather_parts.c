/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/indices.h"
#include "tilewright/kernels/move_row.h"
#include "tilewright/kernels/walk.h"

enum { X, INDICES, Y, PARTIAL };
enum { MOST_BYTES = 4 }; /* of one move: elements found before lie at multiples of four bytes */

struct parts {
    const struct tilewright_gather_parts_attributes *attributes;
    uint32_t flags;
    int32_t first; /* the positions on the gathered axis that x has here */
    int32_t extent;
    int32_t stride;
    uint8_t *found; /* the elements of the tile of y, in the order of the walk */
};

static void move(const struct parts *parts, uint8_t *const *from_to, const int32_t *step,
                 int32_t count)
{
    const int32_t element = parts->attributes->element_bytes;
    const int32_t bytes = element < MOST_BYTES ? element : MOST_BYTES;
    for (int32_t at = 0; at < element; at += bytes) {
        uint8_t *const moved[2] = {from_to[0] + at, from_to[1] + at};
        tilewright_move_row(moved, step, count, &bytes);
    }
}

/* Takes the elements that an index selects, if x has them here. */
static void take(struct parts *parts, const uint8_t *index, uint8_t *x, int32_t x_step,
                 int32_t count)
{
    const struct tilewright_gather_parts_attributes *attributes = parts->attributes;
    const int32_t at =
        tilewright_index(index, attributes->index_bytes, attributes->extent) - parts->first;
    const int32_t steps[2] = {x_step, attributes->element_bytes};
    uint8_t *const moved[2] = {x + (ptrdiff_t)at * parts->stride, parts->found};
    if (at >= 0 && at < parts->extent) {
        move(parts, moved, steps, count);
    }
}

static void run_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    struct parts *parts = *(struct parts *const *)context;
    const int32_t element = parts->attributes->element_bytes;
    uint8_t *const begin = parts->found;

    if (stride[INDICES] == 0) {
        take(parts, at[INDICES], at[X], stride[X], count);
    }
    for (int32_t i = 0; i < count && stride[INDICES] != 0; i++) {
        take(parts, at[INDICES] + (ptrdiff_t)i * stride[INDICES], at[X] + (ptrdiff_t)i * stride[X],
             0, 1);
        parts->found += element;
    }
    if ((parts->flags & TILEWRIGHT_LAST) != 0) {
        uint8_t *const moved[2] = {begin, at[Y]};
        const int32_t steps[2] = {element, stride[Y]};
        move(parts, moved, steps, count);
    }
    parts->found = begin + (ptrdiff_t)count * element;
}

void tilewright_gather_parts(const struct tilewright_gather_parts_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    const int32_t axis = attributes->axis;
    const struct tilewright_shape *shape = operands[X].shape;
    struct parts parts = {attributes,          flags, shape->origin[axis], shape->extent[axis],
                          shape->stride[axis], NULL};
    struct parts *const context = &parts;
    /* The walk does not move x on the gathered axis; the index does. */
    struct tilewright_shape still = *shape;
    const struct tilewright_view x = {operands[X].base, &still};
    struct tilewright_walk_operand walked[3];

    parts.found = operands[PARTIAL].base;
    still.extent[axis] = 1;
    still.stride[axis] = 0;
    still.origin[axis] = 0;
    tilewright_walk_set(&walked[X], &x, NULL, NULL);
    tilewright_walk_set(&walked[INDICES], &operands[INDICES], NULL, NULL);
    tilewright_walk_set(&walked[Y], &operands[Y], NULL, NULL);
    tilewright_walk(walked, 3, operands[Y].shape->extent, run_row, (const void *)&context);
}
