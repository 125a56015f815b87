/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/walk.h"

#include "tilewright/kernels/basics.h"

/* The axes after sorting and merging, innermost first. A merged axis has the strides of its
 * innermost axis. The struct is small, because a cluster's cores have short stacks. */
struct walk {
    int32_t rank;
    int32_t extent[TILEWRIGHT_MAX_RANK];
    int32_t index[TILEWRIGHT_MAX_RANK];
    /* Low bits: the number of the axis; from bit RINGS on: a bit for each operand with a ring on
     * it. */
    uint8_t tag[TILEWRIGHT_MAX_RANK];
};

enum { AXIS = 15, RINGS = 4 };

void tilewright_walk_set(struct tilewright_walk_operand *operand,
                         const struct tilewright_view *view, const int32_t *first,
                         const int32_t *step)
{
    const struct tilewright_shape *shape = view->shape;
    ptrdiff_t offset = 0;

    operand->ring = NULL;
    operand->ring_first = 0;
    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        const int32_t begin = first != NULL ? first[axis] : shape->origin[axis];
        const int32_t advance = shape->extent[axis] == 1 ? 0 : (step != NULL ? step[axis] : 1);
        if (shape->ring_rows != 0 && shape->ring_axis == axis) {
            operand->ring = shape;
            operand->ring_first = begin;
            operand->stride[axis] = advance;
        } else {
            offset += (ptrdiff_t)(begin - shape->origin[axis]) * shape->stride[axis];
            operand->stride[axis] = advance * shape->stride[axis];
        }
    }
    operand->base = view->base + offset;
}

static ptrdiff_t ring_offset(const struct tilewright_walk_operand *operand, int32_t index)
{
    const struct tilewright_shape *ring = operand->ring;
    const int32_t row = operand->ring_first + index * operand->stride[ring->ring_axis];
    return (ptrdiff_t)(row % ring->ring_rows) * ring->stride[ring->ring_axis];
}

static int32_t axis_at(const struct walk *walk, int32_t at)
{
    return walk->tag[at] & AXIS;
}

static int32_t rings_at(const struct walk *walk, int32_t at)
{
    return walk->tag[at] >> RINGS;
}

/* Bytes from an operand's base to the start of the current row. */
static inline ptrdiff_t row_offset(const struct walk *walk,
                                   const struct tilewright_walk_operand *operand, int32_t number,
                                   int32_t first)
{
    ptrdiff_t offset = 0;
    for (int32_t place = first; place < walk->rank; place++) {
        offset += (rings_at(walk, place) >> number & 1) != 0
                      ? ring_offset(operand, walk->index[place])
                      : (ptrdiff_t)walk->index[place] * operand->stride[axis_at(walk, place)];
    }
    return offset;
}

static int32_t rings_on(const struct tilewright_walk_operand *operands, int32_t count, int32_t axis)
{
    int32_t rings = 0;
    for (int32_t i = 0; i < count; i++) {
        if (operands[i].ring != NULL && operands[i].ring->ring_axis == axis) {
            rings |= 1 << i;
        }
    }
    return rings;
}

static int32_t magnitude(int32_t value)
{
    return value < 0 ? -value : value;
}

/* Axes with rings are sorted outermost, so that rows do not wrap around. */
static int is_inside(const struct walk *walk, int32_t at, int32_t rings, int32_t stride,
                     const struct tilewright_walk_operand *last)
{
    if ((rings != 0) != (rings_at(walk, at) != 0)) {
        return rings == 0;
    }
    return magnitude(stride) < magnitude(last->stride[axis_at(walk, at)]);
}

static void move_axis(struct walk *walk, int32_t to, int32_t from)
{
    walk->extent[to] = walk->extent[from];
    walk->tag[to] = walk->tag[from];
}

static void insert_axis(struct walk *walk, const struct tilewright_walk_operand *operands,
                        int32_t count, int32_t axis, int32_t extent, int32_t rings)
{
    const struct tilewright_walk_operand *last = &operands[count - 1];
    int32_t at = walk->rank++;
    walk->index[at] = 0;
    while (at > 0 && is_inside(walk, at - 1, rings, last->stride[axis], last)) {
        move_axis(walk, at, at - 1);
        at--;
    }
    walk->extent[at] = extent;
    walk->tag[at] = (uint8_t)(axis | rings << RINGS);
}

/* Whether the axes at `inner` and `outer` lie without gaps in every operand, so that they merge. */
static int continues(const struct walk *walk, const struct tilewright_walk_operand *operands,
                     int32_t inner, int32_t outer, int32_t count)
{
    if (rings_at(walk, inner) != 0 || rings_at(walk, outer) != 0) {
        return 0;
    }
    for (int32_t i = 0; i < count; i++) {
        const int32_t *stride = operands[i].stride;
        if (stride[axis_at(walk, outer)] != stride[axis_at(walk, inner)] * walk->extent[inner]) {
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

/* Sorts and merges the axes of the box. Returns 0 for an empty box. */
static TILEWRIGHT_NOINLINE int prepare(struct walk *walk,
                                       const struct tilewright_walk_operand *operands,
                                       int32_t count, const int32_t *extent)
{
    walk->rank = 0;
    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        if (extent[axis] <= 0) {
            return 0;
        }
        const int32_t rings = rings_on(operands, count, axis);
        if (extent[axis] > 1 || rings != 0) {
            insert_axis(walk, operands, count, axis, extent[axis], rings);
        }
    }
    merge_axes(walk, operands, count);
    return 1;
}

/* 1 if there is an axis at a place that no ring lies on, else 0. */
static int32_t inner_axes(const struct walk *walk, int32_t at)
{
    return at < walk->rank && rings_at(walk, at) == 0 ? 1 : 0;
}

/* Sets the addresses of the first of the rows that lie along the axes before `outer`. This function
 * and `advance` are not inlined, so that a row finds no registers of theirs on the stack. */
static TILEWRIGHT_NOINLINE void begin_rows(const struct walk *walk,
                                           const struct tilewright_walk_operand *operands,
                                           int32_t count, int32_t outer, uint8_t **at)
{
    for (int32_t i = 0; i < count; i++) {
        at[i] = operands[i].base + row_offset(walk, &operands[i], i, outer);
    }
}

/* Moves to the next index of the axes from `outer` on. Returns 0 behind the last one. */
static TILEWRIGHT_NOINLINE int advance(struct walk *walk, int32_t outer)
{
    int32_t place = outer;
    while (place < walk->rank && ++walk->index[place] == walk->extent[place]) {
        walk->index[place++] = 0;
    }
    return place < walk->rank;
}

void tilewright_walk(const struct tilewright_walk_operand *operands, int32_t operand_count,
                     const int32_t *extent, tilewright_row_function row, const void *context)
{
    struct walk walk;
    int32_t stride[TILEWRIGHT_WALK_OPERANDS] = {0};
    uint8_t *at[TILEWRIGHT_WALK_OPERANDS];

    if (!prepare(&walk, operands, operand_count, extent)) {
        return;
    }
    const int32_t first = inner_axes(&walk, 0);
    const int32_t outer = first + inner_axes(&walk, first);
    const int32_t length = first > 0 ? walk.extent[0] : 1;
    const int32_t rows = outer > first ? walk.extent[first] : 1;
    const int32_t row_axis = outer > first ? axis_at(&walk, first) : 0;
    for (int32_t i = 0; first > 0 && i < operand_count; i++) {
        stride[i] = operands[i].stride[axis_at(&walk, 0)];
    }
    do {
        begin_rows(&walk, operands, operand_count, outer, at);
        for (int32_t done = 0; done < rows; done++) {
            row(at, stride, length, context);
            for (int32_t i = 0; i < operand_count; i++) {
                at[i] += operands[i].stride[row_axis];
            }
        }
    } while (advance(&walk, outer));
}
