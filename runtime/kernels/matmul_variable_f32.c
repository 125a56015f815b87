/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_math.h"
#include "tilewright/kernels/walk.h"

enum { FIRST_MATRIX_AXIS = TILEWRIGHT_MAX_RANK - 2, LAST = TILEWRIGHT_MAX_RANK - 1 };

/* Strides in bytes: a and b along k, b and y along n. */
struct matmul {
    const struct tilewright_matmul_variable_f32_attributes *attributes;
    const uint8_t *bias;
    int32_t taps;
    int32_t columns;
    int32_t a_tap;
    int32_t b_tap;
    int32_t b_column;
    int32_t y_column;
};

struct block {
    const uint8_t *a;
    int32_t a_row;
    const uint8_t *b;
    uint8_t *y;
    int32_t y_row;
};

/* Multiplies `rows` (1 or 4, for which callers pass a constant) rows of a by all columns, four at a
 * time; columns behind the last column read the last column again. */
TILEWRIGHT_INLINE void multiply_rows(const struct matmul *matmul, const struct block *block,
                                     int32_t rows)
{
    for (int32_t column = 0; column < matmul->columns; column += 4) {
        const int32_t last = matmul->columns - 1 - column;
        const uint8_t *b[4];
        const uint8_t *a[4];
        float sum[4][4];
        TILEWRIGHT_UNROLL_4
        for (int32_t j = 0; j < 4; j++) {
            const int32_t index = column + (j < last ? j : last);
            const float start =
                matmul->bias != NULL ? tilewright_load_f32(matmul->bias + 4 * index) : 0.0f;
            b[j] = block->b + (ptrdiff_t)index * matmul->b_column;
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < rows; i++) {
                sum[i][j] = start;
            }
        }
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < rows; i++) {
            a[i] = block->a + i * block->a_row;
        }
        for (int32_t tap = 0; tap < matmul->taps; tap++) {
            float weights[4];
            TILEWRIGHT_UNROLL_4
            for (int32_t j = 0; j < 4; j++) {
                weights[j] = tilewright_load_f32(b[j]);
                b[j] += matmul->b_tap;
            }
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < rows; i++) {
                const float value = tilewright_load_f32(a[i]);
                TILEWRIGHT_UNROLL_4
                for (int32_t j = 0; j < 4; j++) {
                    sum[i][j] = tilewright_multiply_add(value, weights[j], sum[i][j]);
                }
                a[i] += matmul->a_tap;
            }
        }
        TILEWRIGHT_UNROLL_4
        for (int32_t j = 0; j < 4; j++) {
            if (j <= last) {
                uint8_t *y = block->y + (ptrdiff_t)(column + j) * matmul->y_column;
                TILEWRIGHT_UNROLL_4
                for (int32_t i = 0; i < rows; i++) {
                    tilewright_store_f32(y + i * block->y_row,
                                         tilewright_clamp(sum[i][j], matmul->attributes->minimum,
                                                          matmul->attributes->maximum));
                }
            }
        }
    }
}

static TILEWRIGHT_NOINLINE void four(const struct matmul *matmul, const struct block *block)
{
    multiply_rows(matmul, block, 4);
}

static TILEWRIGHT_NOINLINE void one(const struct matmul *matmul, const struct block *block)
{
    multiply_rows(matmul, block, 1);
}

static void run_rows(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct matmul *matmul = context;
    struct block block = {at[0], stride[0], at[1], at[2], stride[2]};

    while (count > 0) {
        /* A block of four rows needs one matrix b for all of them. */
        const int32_t rows = count >= 4 && stride[1] == 0 ? 4 : 1;
        if (rows == 4) {
            four(matmul, &block);
        } else {
            one(matmul, &block);
        }
        block.a += rows * stride[0];
        block.b += rows * stride[1];
        block.y += rows * stride[2];
        count -= rows;
    }
}

void tilewright_matmul_variable_f32(
    const struct tilewright_matmul_variable_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_view *y = &operands[attributes->has_bias != 0 ? 3 : 2];
    const struct tilewright_shape *a = operands[0].shape;
    const struct tilewright_shape *b = operands[1].shape;
    struct tilewright_walk_operand walked[3];
    int32_t extent[TILEWRIGHT_MAX_RANK];
    struct matmul matmul;

    (void)flags;
    for (int32_t axis = 0; axis < LAST; axis++) {
        extent[axis] = y->shape->extent[axis];
    }
    extent[LAST] = 1;
    tilewright_walk_set(&walked[0], &operands[0], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[1], NULL, NULL);
    tilewright_walk_set(&walked[2], y, NULL, NULL);
    /* The walk's last two axes are the rows of a and y; b, whose last two axes are k and n, does
     * not move on them. */
    walked[1].stride[FIRST_MATRIX_AXIS] = 0;
    walked[1].stride[LAST] = 0;
    matmul.attributes = attributes;
    matmul.bias = attributes->has_bias != 0 ? operands[2].base : NULL;
    matmul.taps = a->extent[LAST];
    matmul.columns = y->shape->extent[LAST];
    matmul.a_tap = a->stride[LAST];
    matmul.b_tap = b->stride[FIRST_MATRIX_AXIS];
    matmul.b_column = b->stride[LAST];
    matmul.y_column = y->shape->stride[LAST];
    tilewright_walk(walked, 3, extent, run_rows, &matmul);
}
