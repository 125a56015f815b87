/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/split.h"

#include "tilewright/port.h"
#include "tilewright/tile.h"

struct call {
    const struct tilewright_split *split;
    const struct tilewright_view *operands;
    uint8_t *views;
    int32_t lower;
    int32_t upper;
    uint32_t flags;
};

static int32_t first_element(const struct tilewright_split_axis *axis, int32_t lower, int32_t upper)
{
    const int32_t at = axis->term < 0 ? upper - 1 : lower;
    const int32_t first = tilewright_floor(axis->term * at + axis->first_offset, axis->divisor);
    return tilewright_minimum(tilewright_maximum(first, 0), axis->extent);
}

static int32_t end_element(const struct tilewright_split_axis *axis, int32_t lower, int32_t upper)
{
    const int32_t at = axis->term < 0 ? lower : upper - 1;
    const int32_t end = tilewright_floor(axis->term * at + axis->last_offset, axis->divisor) + 1;
    return tilewright_minimum(end, axis->extent);
}

/* Cut one axis of a view down to [lower, upper) of the dimension. */
static void cut(const struct call *call, const struct tilewright_split_axis *axis, int32_t lower,
                int32_t upper, struct tilewright_view *view, struct tilewright_shape *shape)
{
    const int32_t first = first_element(axis, lower, upper);
    const int32_t end = tilewright_maximum(end_element(axis, lower, upper), first);
    if (view->shape == NULL) {
        const int32_t begin = first_element(axis, call->lower, call->upper);
        view->base += (ptrdiff_t)(first - begin) * axis->stride_bytes;
        return;
    }
    /* A second axis of the same operand finds the copy that the first one made. */
    if (view->shape != shape) {
        *shape = *view->shape;
        view->shape = shape;
    }
    const int is_ring = shape->ring_rows != 0 && shape->ring_axis == axis->axis;
    if (!is_ring) {
        view->base += (ptrdiff_t)(first - shape->origin[axis->axis]) * shape->stride[axis->axis];
    }
    shape->origin[axis->axis] = first;
    shape->extent[axis->axis] = end - first;
}

static void part(void *argument)
{
    const struct call *call = (const struct call *)argument;
    const struct tilewright_split *split = call->split;
    const int32_t core = (int32_t)tilewright_core_id();
    const int32_t lower = call->lower + core * split->chunk;
    const int32_t upper = tilewright_minimum(lower + split->chunk, call->upper);
    if (lower >= upper) {
        return;
    }
    const uint32_t count = split->operand_count + split->scratch_count;
    struct tilewright_view *views =
        (struct tilewright_view *)(void *)(call->views + (uint32_t)core * split->views_bytes);
    struct tilewright_shape *shape = (struct tilewright_shape *)(void *)(views + count);
    for (uint32_t i = 0; i < count; i++) {
        views[i] = call->operands[i];
    }
    for (uint32_t i = 0; i < split->scratch_count; i++) {
        views[split->operand_count + i].base += (uint32_t)core * split->scratch_bytes[i];
    }
    for (uint32_t i = 0; i < split->axis_count; i++) {
        const struct tilewright_split_axis *axis = &split->axes[i];
        if (i > 0 && axis->operand != split->axes[i - 1u].operand &&
            views[split->axes[i - 1u].operand].shape == shape) {
            shape++;
        }
        cut(call, axis, lower, upper, &views[axis->operand], shape);
    }
    split->kernel(views, call->flags);
}

void tilewright_split_run(const struct tilewright_split *split,
                          const struct tilewright_view *operands, uint8_t *views, int32_t lower,
                          int32_t upper, uint32_t flags)
{
    struct call call = {split, operands, views, lower, upper, flags};
    const uint32_t parts = (uint32_t)((upper - lower + split->chunk - 1) / split->chunk);
    tilewright_fork(parts < split->cores ? parts : split->cores, part, &call);
}
