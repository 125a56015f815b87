/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/move_row.h"
#include "tilewright/kernels/walk.h"

/* Copies what of y stands at the given place among the repetitions of its element on every axis. */
static void copy_at(const struct tilewright_repeat_attributes *attributes,
                    const struct tilewright_view *operands, const int32_t *place)
{
    const struct tilewright_shape *y = operands[1].shape;
    struct tilewright_walk_operand walked[2];
    int32_t from[TILEWRIGHT_MAX_RANK];
    int32_t to[TILEWRIGHT_MAX_RANK];
    int32_t extent[TILEWRIGHT_MAX_RANK];

    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        const int32_t times = attributes->times[axis];
        const int32_t end = y->origin[axis] + y->extent[axis];
        from[axis] = (y->origin[axis] - place[axis] + times - 1) / times;
        to[axis] = from[axis] * times + place[axis];
        extent[axis] = (end - to[axis] + times - 1) / times;
    }
    tilewright_walk_set(&walked[0], &operands[0], from, NULL);
    tilewright_walk_set(&walked[1], &operands[1], to, attributes->times);
    tilewright_walk(walked, 2, extent, tilewright_move_row, &attributes->element_bytes);
}

void tilewright_repeat(const struct tilewright_repeat_attributes *attributes,
                       const struct tilewright_view *operands, uint32_t flags)
{
    int32_t place[TILEWRIGHT_MAX_RANK] = {0};
    int32_t axis;

    (void)flags;
    do {
        copy_at(attributes, operands, place);
        for (axis = 0; axis < TILEWRIGHT_MAX_RANK && ++place[axis] == attributes->times[axis];
             axis++) {
            place[axis] = 0;
        }
    } while (axis < TILEWRIGHT_MAX_RANK);
}
