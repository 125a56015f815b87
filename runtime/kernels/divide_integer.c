/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_line.h"
#include "tilewright/kernels/walk.h"

enum { A, B, Y, OPERANDS };

/* Elements of a piece. Two pieces are on the stack at once, and a 64-bit division needs more of it;
 * the division takes longer than the loads of more pieces. */
enum { PIECE = TILEWRIGHT_LINE / 4 };

static int64_t quotient(int64_t dividend, int64_t divisor)
{
    const int64_t half = divisor >> 1;
    if (divisor == 0) {
        return 0;
    }
    return (dividend < 0 ? dividend - half : dividend + half) / divisor;
}

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_divide_integer_attributes *a = context;
    const int64_t numerator = (int64_t)((uint64_t)a->numerator[1] << 32 | a->numerator[0]);
    uint8_t *y = at[Y];

    for (int32_t done = 0; done < count; done += PIECE) {
        const int32_t length = tilewright_smaller(count - done, PIECE);
        int32_t over[PIECE];
        int32_t under[PIECE];
        tilewright_line_load(over, at[A] + (ptrdiff_t)done * stride[A], stride[A], length,
                             a->a_type, 0);
        tilewright_line_load(under, at[B] + (ptrdiff_t)done * stride[B], stride[B], length,
                             a->b_type, 0);
        for (int32_t i = 0; i < length; i++) {
            *(uint32_t *)(void *)y =
                (uint32_t)quotient(numerator * over[i], (int64_t)a->eta * under[i] + a->epsilon);
            y += stride[Y];
        }
    }
}

void tilewright_divide_integer(const struct tilewright_divide_integer_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags)
{
    struct tilewright_walk_operand walked[OPERANDS];
    (void)flags;
    for (int32_t i = 0; i < OPERANDS; i++) {
        tilewright_walk_set(&walked[i], &operands[i], NULL, NULL);
    }
    tilewright_walk(walked, OPERANDS, operands[Y].shape->extent, row, attributes);
}
