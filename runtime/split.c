/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/split.h"

#include "tilewright/tile.h"

void tilewright_split_part(void *argument)
{
    const struct tilewright_split *split = (const struct tilewright_split *)argument;
    const uint32_t core = tilewright_core_id();
    const int32_t lower = split->lower + (int32_t)core * split->chunk;
    if (lower >= split->upper) {
        return;
    }
    /* Not on the stack, which may be short. */
    struct tilewright_part *part =
        (struct tilewright_part *)(void *)(split->views + core * split->views_bytes);
    struct tilewright_view *operands =
        (struct tilewright_view *)(void *)((uint8_t *)part + TILEWRIGHT_PART_BYTES);
    for (uint32_t i = 0; i < split->operand_count; i++) {
        operands[i] = split->operands[i];
    }
    part->operands = operands;
    part->shapes = (struct tilewright_shape *)(void *)(operands + split->operand_count);
    part->cut = NULL;
    part->lower = lower;
    part->upper = tilewright_minimum(lower + split->chunk, split->upper);
    part->call_lower = split->lower;
    part->call_upper = split->upper;
    part->core = core;
    part->flags = split->flags;
    split->work(part);
}

void tilewright_cut(struct tilewright_part *part, uint32_t operand, uint32_t axis, int32_t first,
                    int32_t end)
{
    struct tilewright_view *view = &part->operands[operand];
    if (part->cut != view) {
        part->cut = view;
        *part->shapes = *view->shape;
        view->shape = part->shapes;
        part->shapes++;
    }
    struct tilewright_shape *shape = part->shapes - 1;
    const int is_ring = shape->ring_rows != 0 && shape->ring_axis == (int32_t)axis;
    if (!is_ring) {
        view->base += (ptrdiff_t)(first - shape->origin[axis]) * shape->stride[axis];
    }
    shape->origin[axis] = first;
    shape->extent[axis] = end - first;
}
