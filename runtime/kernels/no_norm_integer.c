/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_line.h"
#include "tilewright/kernels/walk.h"

enum { X, W, B, Y, OPERANDS };

/* Elements of a piece; two pieces are on the stack at once. */
enum { PIECE = TILEWRIGHT_LINE / 2 };

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_no_norm_integer_attributes *a = context;
    const uint8_t *b = at[B];
    uint8_t *y = at[Y];

    for (int32_t done = 0; done < count; done += PIECE) {
        const int32_t length = tilewright_smaller(count - done, PIECE);
        int32_t x[PIECE];
        int32_t w[PIECE];
        tilewright_line_load(x, at[X] + (ptrdiff_t)done * stride[X], stride[X], length, a->x_type,
                             0);
        tilewright_line_load(w, at[W] + (ptrdiff_t)done * stride[W], stride[W], length, a->w_type,
                             0);
        for (int32_t i = 0; i < length; i++) {
            const int64_t sum = (int64_t)x[i] * w[i] + *(const int32_t *)(const void *)b;
            *y = (uint8_t)(sum * a->multiplier >> a->shift);
            b += stride[B];
            y += stride[Y];
        }
    }
}

void tilewright_no_norm_integer(const struct tilewright_no_norm_integer_attributes *attributes,
                                const struct tilewright_view *operands, uint32_t flags)
{
    struct tilewright_walk_operand walked[OPERANDS];
    (void)flags;
    for (int32_t i = 0; i < OPERANDS; i++) {
        tilewright_walk_set(&walked[i], &operands[i], NULL, NULL);
    }
    tilewright_walk(walked, OPERANDS, operands[Y].shape->extent, row, attributes);
}
