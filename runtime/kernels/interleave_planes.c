/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/move_row.h"
#include "tilewright/kernels/walk.h"

enum { X, Y, SCRATCH };

static void move(uint8_t *to, int32_t to_stride, uint8_t *from, int32_t from_stride, int32_t count,
                 int32_t element_bytes)
{
    uint8_t *const at[2] = {from, to};
    const int32_t stride[2] = {from_stride, to_stride};
    tilewright_move_row(at, stride, count, &element_bytes);
}

static void move_elements(uint8_t *to, uint8_t *from, int32_t count, int32_t element_bytes)
{
    move(to, element_bytes, from, element_bytes, count, element_bytes);
}

/* Row `row` of plane `plane` goes to place row * planes + plane, along cycles: each move frees the
 * place of the row that is moved. The first row of a cycle waits in `held`. A bit of `moved` stands
 * for each place that has its row. */
static void bring_rows_together(const struct tilewright_interleave_planes_attributes *a,
                                uint8_t *base, uint8_t *held, uint8_t *moved)
{
    const int32_t size = a->row_length * a->element_bytes;
    const int32_t places = a->planes * a->rows;

    for (int32_t i = 0; i < (places + 7) / 8; i++) {
        moved[i] = 0;
    }
    for (int32_t first = 0; first < places; first++) {
        int32_t place = first;
        if ((moved[first / 8] >> (first % 8) & 1) != 0) {
            continue;
        }
        move_elements(held, base + (ptrdiff_t)first * size, a->row_length, a->element_bytes);
        for (;;) {
            const int32_t from = place % a->planes * a->rows + place / a->planes;
            uint8_t *const to = base + (ptrdiff_t)place * size;
            moved[place / 8] = (uint8_t)(moved[place / 8] | 1u << (place % 8));
            if (from == first) {
                move_elements(to, held, a->row_length, a->element_bytes);
                break;
            }
            move_elements(to, base + (ptrdiff_t)from * size, a->row_length, a->element_bytes);
            place = from;
        }
    }
}

/* One row of each plane, one behind the other, as a row of pixels. */
static void turn_row(const struct tilewright_interleave_planes_attributes *a, uint8_t *row,
                     uint8_t *held)
{
    const int32_t size = a->row_length * a->element_bytes;
    const int32_t pixel = a->planes * a->element_bytes;

    move_elements(held, row, a->planes * a->row_length, a->element_bytes);
    for (int32_t plane = 0; plane < a->planes; plane++) {
        move(row + (ptrdiff_t)plane * a->element_bytes, pixel, held + (ptrdiff_t)plane * size,
             a->element_bytes, a->row_length, a->element_bytes);
    }
}

void tilewright_interleave_planes(const struct tilewright_interleave_planes_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    uint8_t *const scratch = operands[SCRATCH].base;
    uint8_t *row = operands[Y].base;

    (void)flags;
    if (operands[X].base != row) {
        struct tilewright_walk_operand walked[2];
        tilewright_walk_set(&walked[0], &operands[X], NULL, NULL);
        tilewright_walk_set(&walked[1], &operands[Y], NULL, NULL);
        tilewright_walk(walked, 2, operands[Y].shape->extent, tilewright_move_row,
                        &attributes->element_bytes);
        return;
    }
    bring_rows_together(attributes, row, scratch, scratch + attributes->moved_at);
    for (int32_t i = 0; i < attributes->rows; i++) {
        turn_row(attributes, row, scratch);
        row += (ptrdiff_t)attributes->planes * attributes->row_length * attributes->element_bytes;
    }
}
