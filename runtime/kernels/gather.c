/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/indices.h"
#include "tilewright/kernels/move_row.h"
#include "tilewright/kernels/walk.h"

struct gather {
    const struct tilewright_gather_attributes *attributes;
    int32_t extent;
    int32_t stride;
};

static void run_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct gather *gather = context;
    const struct tilewright_gather_attributes *attributes = gather->attributes;
    const int32_t steps[2] = {stride[0], stride[2]};
    uint8_t *moved[2];

    if (stride[1] == 0) {
        moved[0] =
            at[0] + (ptrdiff_t)tilewright_index(at[1], attributes->index_bytes, gather->extent) *
                        gather->stride;
        moved[1] = at[2];
        tilewright_move_row(moved, steps, count, &attributes->element_bytes);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        const uint8_t *index = at[1] + (ptrdiff_t)i * stride[1];
        moved[0] = at[0] + (ptrdiff_t)i * stride[0] +
                   (ptrdiff_t)tilewright_index(index, attributes->index_bytes, gather->extent) *
                       gather->stride;
        moved[1] = at[2] + (ptrdiff_t)i * stride[2];
        tilewright_move_row(moved, steps, 1, &attributes->element_bytes);
    }
}

void tilewright_gather(const struct tilewright_gather_attributes *attributes,
                       const struct tilewright_view *operands, uint32_t flags)
{
    const int32_t axis = attributes->axis;
    const struct gather gather = {attributes, operands[0].shape->extent[axis],
                                  operands[0].shape->stride[axis]};
    /* The walk does not move x on the gathered axis; the index does. */
    struct tilewright_shape still = *operands[0].shape;
    const struct tilewright_view x = {operands[0].base, &still};
    struct tilewright_walk_operand walked[3];

    (void)flags;
    still.extent[axis] = 1;
    still.stride[axis] = 0;
    tilewright_walk_set(&walked[0], &x, NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[1], NULL, NULL);
    tilewright_walk_set(&walked[2], &operands[2], NULL, NULL);
    tilewright_walk(walked, 3, operands[2].shape->extent, run_row, &gather);
}
