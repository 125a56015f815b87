/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/walk.h"

#if defined(__GNUC__)
#define WALK_NOINLINE __attribute__((noinline))
#else
#define WALK_NOINLINE
#endif

/* The axes that are left after sorting and merging, innermost first. A merged axis has the strides
 * of its innermost part. Short, as the stacks of a cluster's cores are. */
struct walk {
    int32_t rank;
    int32_t extent[TILEWRIGHT_MAX_RANK];
    uint8_t *base[TILEWRIGHT_WALK_OPERANDS];
    uint8_t axis[TILEWRIGHT_MAX_RANK];
    /* Operands (bit mask) for which the axis is a ring. */
    uint8_t rings[TILEWRIGHT_MAX_RANK];
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

static uint8_t rings_on(const struct tilewright_walk_operand *operands, int32_t count, int32_t axis)
{
    uint32_t rings = 0;
    for (int32_t i = 0; i < count; i++) {
        if (operands[i].ring_rows != 0 && operands[i].ring_axis == axis) {
            rings |= 1u << i;
        }
    }
    return (uint8_t)rings;
}

static int32_t magnitude(int32_t value)
{
    return value < 0 ? -value : value;
}

/* Axes with rings go outermost, so that rows need not wrap. */
static int is_inside(const struct walk *walk, int32_t at, uint8_t rings, int32_t stride,
                     const struct tilewright_walk_operand *last)
{
    if ((rings != 0) != (walk->rings[at] != 0)) {
        return rings == 0;
    }
    return magnitude(stride) < magnitude(last->stride[walk->axis[at]]);
}

static void move_axis(struct walk *walk, int32_t to, int32_t from)
{
    walk->extent[to] = walk->extent[from];
    walk->axis[to] = walk->axis[from];
    walk->rings[to] = walk->rings[from];
}

static void insert_axis(struct walk *walk, const struct tilewright_walk_operand *operands,
                        int32_t count, int32_t axis, int32_t extent)
{
    const struct tilewright_walk_operand *last = &operands[count - 1];
    const uint8_t rings = rings_on(operands, count, axis);
    int32_t at = walk->rank++;
    while (at > 0 && is_inside(walk, at - 1, rings, last->stride[axis], last)) {
        move_axis(walk, at, at - 1);
        at--;
    }
    walk->extent[at] = extent;
    walk->axis[at] = (uint8_t)axis;
    walk->rings[at] = rings;
}

/* Whether the axis at `outer` goes on where the one at `inner` ends. */
static int continues(const struct walk *walk, const struct tilewright_walk_operand *operands,
                     int32_t inner, int32_t outer, int32_t count)
{
    if (walk->rings[inner] != 0 || walk->rings[outer] != 0) {
        return 0;
    }
    for (int32_t i = 0; i < count; i++) {
        const int32_t *stride = operands[i].stride;
        if (stride[walk->axis[outer]] != stride[walk->axis[inner]] * walk->extent[inner]) {
            return 0;
        }
    }
    return 1;
}

static void merge_axes(struct walk *walk, const struct tilewright_walk_operand *operands,
                       int32_t count)
{
    int32_t inner = 0;
    for (int32_t outer = 1; outer < walk->rank; outer++) {
        if (continues(walk, operands, inner, outer, count)) {
            walk->extent[inner] *= walk->extent[outer];
        } else {
            inner++;
            move_axis(walk, inner, outer);
        }
    }
    walk->rank = walk->rank == 0 ? 0 : inner + 1;
}

/* False for an empty box. */
static WALK_NOINLINE int prepare(struct walk *walk, const struct tilewright_walk_operand *operands,
                                 int32_t count, const int32_t *extent)
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
    merge_axes(walk, operands, count);
    return 1;
}

void tilewright_walk(const struct tilewright_walk_operand *operands, int32_t operand_count,
                     const int32_t *extent, tilewright_row_function row, const void *context)
{
    struct walk walk;
    int32_t index[TILEWRIGHT_MAX_RANK] = {0};
    int32_t stride[TILEWRIGHT_WALK_OPERANDS] = {0};
    uint8_t *at[TILEWRIGHT_WALK_OPERANDS];

    if (!prepare(&walk, operands, operand_count, extent)) {
        return;
    }
    const int32_t first = walk.rank > 0 && walk.rings[0] == 0 ? 1 : 0;
    const int32_t length = first != 0 ? walk.extent[0] : 1;
    for (int32_t i = 0; first != 0 && i < operand_count; i++) {
        stride[i] = operands[i].stride[walk.axis[0]];
    }
    int32_t place;
    do {
        for (int32_t i = 0; i < operand_count; i++) {
            ptrdiff_t offset = 0;
            for (place = first; place < walk.rank; place++) {
                offset += (walk.rings[place] >> i & 1) != 0
                              ? ring_offset(&operands[i], index[place])
                              : (ptrdiff_t)index[place] * operands[i].stride[walk.axis[place]];
            }
            at[i] = walk.base[i] + offset;
        }
        row(at, stride, length, context);
        for (place = first; place < walk.rank && ++index[place] == walk.extent[place]; place++) {
            index[place] = 0;
        }
    } while (place < walk.rank);
}
