/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/move_row.h"
#include "tilewright/kernels/walk.h"

/* The value as an element of 1, 2, 4 or 8 bytes in memory. */
union element {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
};

/* Fills the whole tile with the value, an operand of the walk with strides 0. */
static void fill(const struct tilewright_pad_attributes *attributes,
                 const struct tilewright_view *y)
{
    static const struct tilewright_shape still = {{0}, {1, 1, 1, 1, 1, 1}, {0}, 0, 0};
    const uint64_t bits = (uint64_t)attributes->value[1] << 32 | attributes->value[0];
    union element value = {0};
    struct tilewright_view source = {NULL, &still};
    struct tilewright_walk_operand walked[2];

    switch (attributes->element_bytes) {
    case 1:
        value.one = (uint8_t)bits;
        break;
    case 2:
        value.two = (uint16_t)bits;
        break;
    case 8:
        value.eight = bits;
        break;
    default:
        value.four = (uint32_t)bits;
        break;
    }
    source.base = (uint8_t *)&value;
    tilewright_walk_set(&walked[0], &source, NULL, NULL);
    tilewright_walk_set(&walked[1], y, NULL, NULL);
    tilewright_walk(walked, 2, y->shape->extent, tilewright_move_row, &attributes->element_bytes);
}

void tilewright_pad(const struct tilewright_pad_attributes *attributes,
                    const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *x = operands[0].shape;
    const struct tilewright_shape *y = operands[1].shape;
    struct tilewright_walk_operand walked[2];
    int32_t from[TILEWRIGHT_MAX_RANK];
    int32_t to[TILEWRIGHT_MAX_RANK];
    int32_t extent[TILEWRIGHT_MAX_RANK];

    (void)flags;
    fill(attributes, &operands[1]);
    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        const int32_t begin = y->origin[axis] - attributes->pads[axis];
        const int32_t end = begin + y->extent[axis];
        const int32_t x_end = x->origin[axis] + x->extent[axis];
        from[axis] = begin > x->origin[axis] ? begin : x->origin[axis];
        to[axis] = from[axis] + attributes->pads[axis];
        extent[axis] = (end < x_end ? end : x_end) - from[axis];
    }
    tilewright_walk_set(&walked[0], &operands[0], from, NULL);
    tilewright_walk_set(&walked[1], &operands[1], to, NULL);
    tilewright_walk(walked, 2, extent, tilewright_move_row, &attributes->element_bytes);
}
