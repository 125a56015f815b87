/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_math.h"
#include "tilewright/kernels/move_row.h"

enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

static uint8_t *element(const struct tilewright_view *view, const int32_t *index)
{
    uint8_t *at = view->base;
    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        at += tilewright_axis_offset(view->shape, axis, index[axis]);
    }
    return at;
}

static int is_ring(const struct tilewright_shape *shape)
{
    return shape->ring_rows != 0 && shape->ring_axis == LAST;
}

/* The index in the input of the element at `index` of the output. */
static void source_index(const struct tilewright_reshape_attributes *attributes,
                         const int32_t *index, int32_t *source)
{
    int32_t linear = 0;
    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        linear = linear * attributes->y_extents[axis] + index[axis];
    }
    for (int32_t axis = LAST; axis >= 0; axis--) {
        source[axis] = linear % attributes->x_extents[axis];
        linear /= attributes->x_extents[axis];
    }
}

/* Copies one row of the output in runs, one for each row of the input that it touches. */
static void run_row(const struct tilewright_reshape_attributes *attributes,
                    const struct tilewright_view *operands, int32_t *index)
{
    const struct tilewright_shape *x = operands[0].shape;
    const struct tilewright_shape *y = operands[1].shape;
    const int32_t end = y->origin[LAST] + y->extent[LAST];
    const int32_t stride[2] = {x->stride[LAST], y->stride[LAST]};
    const int single = is_ring(x) || is_ring(y);
    int32_t source[TILEWRIGHT_MAX_RANK];

    index[LAST] = y->origin[LAST];
    while (index[LAST] < end) {
        source_index(attributes, index, source);
        const int32_t left = end - index[LAST];
        const int32_t run = attributes->x_extents[LAST] - source[LAST];
        const int32_t count = single ? 1 : (run < left ? run : left);
        uint8_t *const at[2] = {element(&operands[0], source), element(&operands[1], index)};
        tilewright_move_row(at, stride, count, &attributes->element_bytes);
        index[LAST] += count;
    }
}

void tilewright_reshape(const struct tilewright_reshape_attributes *attributes,
                        const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *y = operands[1].shape;
    int32_t index[TILEWRIGHT_MAX_RANK];
    int32_t axis;

    (void)flags;
    for (axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        index[axis] = y->origin[axis];
    }
    do {
        run_row(attributes, operands, index);
        for (axis = LAST - 1; axis >= 0 && ++index[axis] == y->origin[axis] + y->extent[axis];
             axis--) {
            index[axis] = y->origin[axis];
        }
    } while (axis >= 0);
}
