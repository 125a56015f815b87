/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/move_row.h"
#include "tilewright/kernels/walk.h"

void tilewright_concat(const struct tilewright_concat_attributes *attributes,
                       const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_view *y = &operands[attributes->inputs];
    int32_t first[TILEWRIGHT_MAX_RANK];

    (void)flags;
    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        first[axis] = y->shape->origin[axis];
    }
    for (int32_t i = 0; i < attributes->inputs; i++) {
        struct tilewright_walk_operand walked[2];
        const int32_t *extent = operands[i].shape->extent;
        tilewright_walk_set(&walked[0], &operands[i], NULL, NULL);
        tilewright_walk_set(&walked[1], y, first, NULL);
        tilewright_walk(walked, 2, extent, tilewright_move_row, &attributes->element_bytes);
        first[attributes->axis] += extent[attributes->axis];
    }
}
