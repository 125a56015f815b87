/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/walk.h"

/* The axes that are left after sorting and merging, innermost first. */
struct walk {
    int32_t rank;
    int32_t extent[TILEWRIGHT_MAX_RANK];
    int32_t stride[TILEWRIGHT_MAX_RANK][TILEWRIGHT_WALK_OPERANDS];
    /* Operands (bit mask) for which the axis is a ring. */
    uint32_t rings[TILEWRIGHT_MAX_RANK];
    uint8_t *base[TILEWRIGHT_WALK_OPERANDS];
};

struct tilewright_walk_operand tilewright_walk_view(const struct tilewright_view *view,
                                                    const int32_t *first, const int32_t *step)
{
    const struct tilewright_shape *shape = view->shape;
    struct tilewright_walk_operand operand = {view->base, {0}, 0, 0, 0, 0};
    ptrdiff_t offset = 0;

    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        const int32_t begin = first != NULL ? first[axis] : shape->origin[axis];
        const int32_t advance = shape->extent[axis] == 1 ? 0 : (step != NULL ? step[axis] : 1);
        if (shape->ring_rows != 0 && shape->ring_axis == axis) {
            operand.ring_axis = axis;
            operand.ring_rows = shape->ring_rows;
            operand.ring_first = begin;
            operand.ring_step = advance;
            operand.stride[axis] = shape->stride[axis];
        } else {
            offset += (ptrdiff_t)(begin - shape->origin[axis]) * shape->stride[axis];
            operand.stride[axis] = advance * shape->stride[axis];
        }
    }
    operand.base += offset;
    return operand;
}

static ptrdiff_t ring_offset(const struct tilewright_walk_operand *operand, int32_t index)
{
    const int32_t slot = (operand->ring_first + index * operand->ring_step) % operand->ring_rows;
    return (ptrdiff_t)slot * operand->stride[operand->ring_axis];
}

static uint32_t rings_on(const struct tilewright_walk_operand *operands, int32_t count,
                         int32_t axis)
{
    uint32_t rings = 0;
    for (int32_t i = 0; i < count; i++) {
        if (operands[i].ring_rows != 0 && operands[i].ring_axis == axis) {
            rings |= 1u << i;
        }
    }
    return rings;
}

static int32_t magnitude(int32_t value)
{
    return value < 0 ? -value : value;
}

/* Axes with rings go outermost, so that rows need not wrap. */
static int is_inside(const struct walk *walk, int32_t axis, uint32_t rings, int32_t stride,
                     int32_t last)
{
    if ((rings != 0) != (walk->rings[axis] != 0)) {
        return rings == 0;
    }
    return magnitude(stride) < magnitude(walk->stride[axis][last]);
}

static void move_axis(struct walk *walk, int32_t to, int32_t from, int32_t count)
{
    walk->extent[to] = walk->extent[from];
    walk->rings[to] = walk->rings[from];
    for (int32_t i = 0; i < count; i++) {
        walk->stride[to][i] = walk->stride[from][i];
    }
}

static void insert_axis(struct walk *walk, const struct tilewright_walk_operand *operands,
                        int32_t count, int32_t axis, int32_t extent)
{
    const uint32_t rings = rings_on(operands, count, axis);
    int32_t at = walk->rank++;
    while (at > 0 && is_inside(walk, at - 1, rings, operands[count - 1].stride[axis], count - 1)) {
        move_axis(walk, at, at - 1, count);
        at--;
    }
    walk->extent[at] = extent;
    walk->rings[at] = rings;
    for (int32_t i = 0; i < count; i++) {
        walk->stride[at][i] = operands[i].stride[axis];
    }
}

static int continues(const struct walk *walk, int32_t inner, int32_t outer, int32_t count)
{
    if (walk->rings[inner] != 0 || walk->rings[outer] != 0) {
        return 0;
    }
    for (int32_t i = 0; i < count; i++) {
        if (walk->stride[outer][i] != walk->stride[inner][i] * walk->extent[inner]) {
            return 0;
        }
    }
    return 1;
}

static void merge_axes(struct walk *walk, int32_t count)
{
    int32_t inner = 0;
    for (int32_t axis = 1; axis < walk->rank; axis++) {
        if (continues(walk, inner, axis, count)) {
            walk->extent[inner] *= walk->extent[axis];
        } else {
            inner++;
            move_axis(walk, inner, axis, count);
        }
    }
    walk->rank = walk->rank == 0 ? 0 : inner + 1;
}

/* False for an empty box. */
static int prepare(struct walk *walk, const struct tilewright_walk_operand *operands, int32_t count,
                   const int32_t *extent)
{
    walk->rank = 0;
    for (int32_t i = 0; i < count; i++) {
        walk->base[i] = operands[i].base;
    }
    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        if (extent[axis] <= 0) {
            return 0;
        }
        if (extent[axis] > 1) {
            insert_axis(walk, operands, count, axis, extent[axis]);
            continue;
        }
        for (int32_t i = 0; i < count; i++) {
            if (operands[i].ring_rows != 0 && operands[i].ring_axis == axis) {
                walk->base[i] += ring_offset(&operands[i], 0);
            }
        }
    }
    merge_axes(walk, count);
    return 1;
}

void tilewright_walk(const struct tilewright_walk_operand *operands, int32_t operand_count,
                     const int32_t *extent, tilewright_row_function row, const void *context)
{
    static const int32_t no_stride[TILEWRIGHT_WALK_OPERANDS] = {0};
    struct walk walk;
    int32_t index[TILEWRIGHT_MAX_RANK] = {0};
    uint8_t *at[TILEWRIGHT_WALK_OPERANDS];

    if (!prepare(&walk, operands, operand_count, extent)) {
        return;
    }
    const int32_t first = walk.rank > 0 && walk.rings[0] == 0 ? 1 : 0;
    const int32_t length = first != 0 ? walk.extent[0] : 1;
    const int32_t *stride = first != 0 ? walk.stride[0] : no_stride;
    int32_t axis;
    do {
        for (int32_t i = 0; i < operand_count; i++) {
            ptrdiff_t offset = 0;
            for (axis = first; axis < walk.rank; axis++) {
                offset += (walk.rings[axis] >> i & 1u) != 0
                              ? ring_offset(&operands[i], index[axis])
                              : (ptrdiff_t)index[axis] * walk.stride[axis][i];
            }
            at[i] = walk.base[i] + offset;
        }
        row(at, stride, length, context);
        for (axis = first; axis < walk.rank && ++index[axis] == walk.extent[axis]; axis++) {
            index[axis] = 0;
        }
    } while (axis < walk.rank);
}
