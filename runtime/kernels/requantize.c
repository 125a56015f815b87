/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/integer_line.h"
#include "tilewright/kernels/walk.h"

enum { X, ROWS, Y };

struct requantize {
    const struct tilewright_requantize_attributes *attributes;
    const int32_t *row;
    struct tilewright_limits limits;
};

/* Elements of a piece for rows that call functions for floats: these need more stack, and take
 * longer than the calls for more pieces. */
enum { SHORT_PIECE = 4 };

TILEWRIGHT_INLINE void requantize_pieces(uint8_t *const *at, const int32_t *stride, int32_t count,
                                         const struct requantize *requantize, int32_t *sums,
                                         const int32_t piece)
{
    for (int32_t done = 0; done < count; done += piece) {
        const int32_t length = tilewright_smaller(count - done, piece);
        tilewright_line_load(sums, at[0] + (ptrdiff_t)done * stride[0], stride[0], length,
                             requantize->attributes->x_type, -requantize->row[0]);
        requantize->attributes->finish(&requantize->limits, sums, requantize->row,
                                       at[1] + (ptrdiff_t)done * stride[1], stride[1], length);
    }
}

void tilewright_requantize_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                               const void *context)
{
    int32_t sums[TILEWRIGHT_LINE];
    requantize_pieces(at, stride, count, context, sums, TILEWRIGHT_LINE);
}

void tilewright_requantize_short_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                                     const void *context)
{
    int32_t sums[SHORT_PIECE];
    requantize_pieces(at, stride, count, context, sums, SHORT_PIECE);
}

static void next_channel(struct tilewright_walk_operand *walked, int32_t axis)
{
    if (walked->ring != NULL && walked->ring->ring_axis == axis) {
        walked->ring_first += walked->stride[axis];
    } else {
        walked->base += walked->stride[axis];
    }
}

void tilewright_requantize(const struct tilewright_requantize_attributes *a,
                           const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *shape = operands[Y].shape;
    const int32_t axis = a->channel_axis;
    const int32_t channels = axis < 0 ? 1 : shape->extent[axis];
    int32_t extent[TILEWRIGHT_MAX_RANK];
    struct requantize requantize = {
        a, (const int32_t *)(const void *)operands[ROWS].base, {a->minimum, a->maximum, 0, 0}};
    struct tilewright_walk_operand walked[2];

    (void)flags;
    tilewright_walk_set(&walked[0], &operands[X], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[Y], NULL, NULL);
    for (int32_t i = 0; i < TILEWRIGHT_MAX_RANK; i++) {
        extent[i] = i == axis ? 1 : shape->extent[i];
    }
    /* One walk for each channel, because all elements of a walk have the same constants. */
    for (int32_t channel = 0; channel < channels; channel++) {
        tilewright_walk(walked, 2, extent, a->row, &requantize);
        requantize.row += TILEWRIGHT_ROW_WORDS;
        if (axis >= 0) {
            next_channel(&walked[0], axis);
            next_channel(&walked[1], axis);
        }
    }
}
