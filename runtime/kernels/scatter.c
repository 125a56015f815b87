/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/walk.h"

#include "tilewright/kernels/indices.h"
#include "tilewright/kernels/move_row.h"

struct scatter {
    const struct tilewright_scatter_attributes *attributes;
    int32_t extent;
    int32_t stride;
};

static void run_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    static const int32_t one[3] = {0};
    const struct scatter *scatter = context;
    const struct tilewright_scatter_attributes *attributes = scatter->attributes;

    for (int32_t i = 0; i < count; i++) {
        const uint8_t *index = at[0] + (ptrdiff_t)i * stride[0];
        uint8_t *update = at[1] + (ptrdiff_t)i * stride[1];
        uint8_t *y = at[2] + (ptrdiff_t)i * stride[2] +
                     (ptrdiff_t)tilewright_index(index, attributes->index_bytes, scatter->extent) *
                         scatter->stride;
        if (attributes->combine != NULL) {
            uint8_t *const elements[3] = {y, update, y};
            attributes->combine(elements, one, 1, NULL);
        } else {
            uint8_t *const elements[2] = {update, y};
            tilewright_move_row(elements, one, 1, &attributes->element_bytes);
        }
    }
}

void tilewright_scatter(const struct tilewright_scatter_attributes *attributes,
                        const struct tilewright_view *operands, uint32_t flags)
{
    const int32_t axis = attributes->axis;
    const struct scatter scatter = {attributes, operands[3].shape->extent[axis],
                                    operands[3].shape->stride[axis]};
    struct tilewright_shape still = *operands[3].shape;
    const struct tilewright_view y = {operands[3].base, &still};
    struct tilewright_walk_operand walked[3];

    (void)flags;
    tilewright_walk_set(&walked[0], &operands[0], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[3], NULL, NULL);
    tilewright_walk(walked, 2, operands[3].shape->extent, tilewright_move_row,
                    &attributes->element_bytes);
    still.extent[axis] = 1;
    still.stride[axis] = 0;
    tilewright_walk_set(&walked[0], &operands[1], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[2], NULL, NULL);
    tilewright_walk_set(&walked[2], &y, NULL, NULL);
    tilewright_walk(walked, 3, operands[2].shape->extent, run_row, &scatter);
}
