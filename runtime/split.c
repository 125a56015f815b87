/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/split.h"

#include "tilewright/tile.h"

/* The operands of this core's part; NULL if the core has no part of the call. Not inlined, so that
 * its stack frame is gone when the kernel runs: stacks may be short. */
static __attribute__((noinline)) const struct tilewright_view *
own_operands(const struct tilewright_split *split)
{
    const uint32_t core = tilewright_core_id();
    const int32_t lower = split->lower + (int32_t)core * split->chunk;
    if (lower >= split->upper) {
        return NULL;
    }
    struct tilewright_view *operands =
        (struct tilewright_view *)(void *)(split->views + core * split->views_bytes);
    for (uint32_t i = 0; i < split->operand_count; i++) {
        operands[i] = split->operands[i];
    }
    struct tilewright_part part = {
        .operands = operands,
        .shapes = (struct tilewright_shape *)(void *)(operands + split->operand_count),
        .cut = NULL,
        .lower = lower,
        .upper = tilewright_minimum(lower + split->chunk, split->upper),
        .call_lower = split->lower,
        .call_upper = split->upper,
        .core = core,
    };
    split->cut(&part);
    return operands;
}

void tilewright_split_part(void *argument)
{
    const struct tilewright_split *split = (const struct tilewright_split *)argument;
    const struct tilewright_view *operands = own_operands(split);
    if (operands != NULL) {
        split->call(split->attributes, operands, split->flags);
    }
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
