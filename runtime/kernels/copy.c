/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/move_row.h"
#include "tilewright/kernels/walk.h"

void tilewright_copy(const struct tilewright_copy_attributes *attributes,
                     const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *y = operands[1].shape;
    struct tilewright_walk_operand walked[2];
    int32_t first[TILEWRIGHT_MAX_RANK];

    (void)flags;
    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        first[axis] = attributes->starts[axis] + attributes->steps[axis] * y->origin[axis];
    }
    tilewright_walk_set(&walked[0], &operands[0], first, attributes->steps);
    tilewright_walk_set(&walked[1], &operands[1], NULL, NULL);
    tilewright_walk(walked, 2, y->extent, tilewright_move_row, &attributes->element_bytes);
}
