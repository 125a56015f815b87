/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/walk.h"

enum { FIRST_MATRIX_AXIS = TILEWRIGHT_MAX_RANK - 2, LAST = TILEWRIGHT_MAX_RANK - 1 };

/* Strides in bytes: a and b along k, b and y along n. */
struct matmul {
    const struct tilewright_matmul_halves_attributes *attributes;
    int32_t taps;
    int32_t columns;
    int32_t a_tap;
    int32_t b_tap;
    int32_t b_column;
    int32_t y_column;
};

static int32_t element(const uint8_t *at)
{
    return *(const int16_t *)(const void *)at;
}

static int64_t sum_of_products(const struct matmul *matmul, const uint8_t *a, const uint8_t *b)
{
    int64_t sum = 0;

    for (int32_t tap = 0; tap < matmul->taps; tap++) {
        sum += element(a) * element(b);
        a += matmul->a_tap;
        b += matmul->b_tap;
    }
    return sum;
}

static void run_row(const struct matmul *matmul, const uint8_t *a, const uint8_t *b, uint8_t *y)
{
    const struct tilewright_matmul_halves_attributes *rule = matmul->attributes;
    const int64_t half = (int64_t)1 << (rule->shift - 1);

    for (int32_t column = 0; column < matmul->columns; column++) {
        const int64_t product = sum_of_products(matmul, a, b) * rule->multiplier + half;
        int64_t result = product >> rule->shift;
        result = result < rule->minimum ? rule->minimum : result;
        result = result > rule->maximum ? rule->maximum : result;
        *(int16_t *)(void *)y = (int16_t)result;
        b += matmul->b_column;
        y += matmul->y_column;
    }
}

static void run_rows(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    for (int32_t row = 0; row < count; row++) {
        run_row(context, at[0] + (ptrdiff_t)row * stride[0], at[1] + (ptrdiff_t)row * stride[1],
                at[2] + (ptrdiff_t)row * stride[2]);
    }
}

void tilewright_matmul_halves(const struct tilewright_matmul_halves_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *a = operands[0].shape;
    const struct tilewright_shape *b = operands[1].shape;
    const struct tilewright_shape *y = operands[2].shape;
    const struct matmul matmul = {attributes,
                                  a->extent[LAST],
                                  y->extent[LAST],
                                  a->stride[LAST],
                                  b->stride[FIRST_MATRIX_AXIS],
                                  b->stride[LAST],
                                  y->stride[LAST]};
    struct tilewright_walk_operand walked[3];
    int32_t extent[TILEWRIGHT_MAX_RANK];

    (void)flags;
    for (int32_t axis = 0; axis < LAST; axis++) {
        extent[axis] = y->extent[axis];
    }
    extent[LAST] = 1;
    for (int32_t i = 0; i < 3; i++) {
        tilewright_walk_set(&walked[i], &operands[i], NULL, NULL);
    }
    /* The walk's last two axes are the rows of a and y; b, whose last two axes are k and n, does
     * not move on them. */
    walked[1].stride[FIRST_MATRIX_AXIS] = 0;
    walked[1].stride[LAST] = 0;
    tilewright_walk(walked, 3, extent, run_rows, &matmul);
}
