/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_math.h"
#include "tilewright/kernels/walk.h"

enum { FIRST_MATRIX_AXIS = TILEWRIGHT_MAX_RANK - 2, LAST = TILEWRIGHT_MAX_RANK - 1 };

/* Strides in bytes: a and b along k, b and y along n, a and y from row to row of a matrix. */
struct matmul {
    const struct tilewright_matmul_variable_f32_attributes *attributes;
    const uint8_t *bias;
    int32_t taps;
    int32_t columns;
    int32_t a_tap;
    int32_t b_tap;
    int32_t b_column;
    int32_t y_column;
    int32_t rows;
    int32_t a_row;
    int32_t y_row;
};

struct block {
    const uint8_t *a;
    int32_t a_row;
    const uint8_t *b;
    uint8_t *y;
    int32_t y_row;
};

/* What lies side by side, besides the taps of a: nothing that counts, the taps of b, or four of its
 * columns. */
enum beside { NOTHING, TAPS_OF_B, COLUMNS_OF_B };

/* Adds four taps, all of a side by side, and moves on; callers pass constants for `rows` and
 * `beside`. */
TILEWRIGHT_INLINE void add_four_taps(float sum[4][4], const uint8_t *a[4], const uint8_t *b[4],
                                     int32_t b_tap, int32_t rows, enum beside beside)
{
    TILEWRIGHT_UNROLL_4
    for (int32_t ahead = 0; ahead < 4; ahead++) {
        float weights[4];
        TILEWRIGHT_UNROLL_4
        for (int32_t j = 0; j < 4; j++) {
            weights[j] = tilewright_load_f32(beside == TAPS_OF_B ? b[j] + 4 * ahead : b[0] + 4 * j);
        }
        b[0] += beside == COLUMNS_OF_B ? b_tap : 0;
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < rows; i++) {
            const float value = tilewright_load_f32(a[i] + 4 * ahead);
            TILEWRIGHT_UNROLL_4
            for (int32_t j = 0; j < 4; j++) {
                sum[i][j] = tilewright_multiply_add(value, weights[j], sum[i][j]);
            }
        }
    }
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < 4; i++) {
        a[i] += i < rows ? 16 : 0;
        b[i] += beside == TAPS_OF_B ? 16 : 0;
    }
}

/* Adds the taps from `from` on, one at a time, where a[i] and b[j] are; callers pass a constant for
 * `rows`. */
TILEWRIGHT_INLINE void add_taps(const struct matmul *matmul, float sum[4][4], const uint8_t *a[4],
                                const uint8_t *b[4], int32_t from, int32_t rows)
{
    for (int32_t tap = from; tap < matmul->taps; tap++) {
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
}

/* Adds all taps of a block of columns, all four of which exist if `beside` is COLUMNS_OF_B. Callers
 * pass constants for `rows` and `beside`. */
TILEWRIGHT_INLINE void add_products(const struct matmul *matmul, float sum[4][4],
                                    const uint8_t *a[4], const uint8_t *b[4], int32_t rows,
                                    enum beside beside)
{
    int32_t tap = 0;
    for (; beside != NOTHING && tap + 4 <= matmul->taps; tap += 4) {
        add_four_taps(sum, a, b, matmul->b_tap, rows, beside);
    }
    if (beside == COLUMNS_OF_B) {
        TILEWRIGHT_UNROLL_4
        for (int32_t j = 1; j < 4; j++) {
            b[j] = b[0] + 4 * j;
        }
    }
    add_taps(matmul, sum, a, b, tap, rows);
}

/* Multiplies `rows` (1 or 4, for which callers pass a constant) rows of a by all columns, four at a
 * time; columns behind the last column read the last column again. */
TILEWRIGHT_INLINE void multiply_rows(const struct matmul *matmul, const struct block *block,
                                     int32_t rows)
{
    /* Stores of floats may change floats behind pointers, as far as the compiler knows. */
    const float minimum = matmul->attributes->minimum;
    const float maximum = matmul->attributes->maximum;
    /* Cores that compute floats in integer registers have too few of them for both. */
    const int is_fast =
        TILEWRIGHT_FAST_FLOATS && !TILEWRIGHT_ZFINX && rows == 4 && matmul->a_tap == 4;
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
        for (int32_t i = 0; i < 4; i++) {
            a[i] = block->a + (i < rows ? i * block->a_row : 0);
        }
        if (is_fast && matmul->b_tap == 4) {
            add_products(matmul, sum, a, b, rows, TAPS_OF_B);
        } else if (is_fast && matmul->b_column == 4 && last >= 3) {
            add_products(matmul, sum, a, b, rows, COLUMNS_OF_B);
        } else {
            add_products(matmul, sum, a, b, rows, NOTHING);
        }
        TILEWRIGHT_UNROLL_4
        for (int32_t j = 0; j < 4; j++) {
            if (j <= last) {
                uint8_t *y = block->y + (ptrdiff_t)(column + j) * matmul->y_column;
                TILEWRIGHT_UNROLL_4
                for (int32_t i = 0; i < rows; i++) {
                    tilewright_store_f32(y + i * block->y_row,
                                         tilewright_clamp(sum[i][j], minimum, maximum));
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

/* Multiplies `count` rows, all with the same matrix b if `b_row` is 0. */
TILEWRIGHT_INLINE void run_block(const struct matmul *matmul, struct block *block, int32_t b_row,
                                 int32_t count)
{
    while (count > 0) {
        /* A block of four rows needs one matrix b for all of them. */
        const int32_t rows = count >= 4 && b_row == 0 ? 4 : 1;
        if (rows == 4) {
            four(matmul, block);
        } else {
            one(matmul, block);
        }
        block->a += rows * block->a_row;
        block->b += rows * b_row;
        block->y += rows * block->y_row;
        count -= rows;
    }
}

/* Rows that the walk moves along: those of matrices of one row, and rows in rings. */
static void run_rows(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    struct block block = {at[0], stride[0], at[1], at[2], stride[2]};
    run_block(context, &block, stride[1], count);
}

static void run_matrices(uint8_t *const *at, const int32_t *stride, int32_t count,
                         const void *context)
{
    const struct matmul *matmul = context;
    for (int32_t i = 0; i < count; i++) {
        struct block block = {at[0] + i * stride[0], matmul->a_row, at[1] + i * stride[1],
                              at[2] + i * stride[2], matmul->y_row};
        run_block(matmul, &block, 0, matmul->rows);
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
     * not move on them. Rows stand inside of a matrix, or four of them had different matrices b
     * where another axis is the innermost one of y; only the walk knows of rings. */
    walked[1].stride[FIRST_MATRIX_AXIS] = 0;
    walked[1].stride[LAST] = 0;
    matmul.rows = extent[FIRST_MATRIX_AXIS];
    matmul.a_row = a->stride[FIRST_MATRIX_AXIS];
    matmul.y_row = y->shape->stride[FIRST_MATRIX_AXIS];
    const int are_inside = matmul.rows > 1 && a->ring_rows == 0 && y->shape->ring_rows == 0;
    if (are_inside) {
        extent[FIRST_MATRIX_AXIS] = 1;
    }
    matmul.attributes = attributes;
    matmul.bias = attributes->has_bias != 0 ? operands[2].base : NULL;
    matmul.taps = a->extent[LAST];
    matmul.columns = y->shape->extent[LAST];
    matmul.a_tap = a->stride[LAST];
    matmul.b_tap = b->stride[FIRST_MATRIX_AXIS];
    matmul.b_column = b->stride[LAST];
    matmul.y_column = y->shape->stride[LAST];
    tilewright_walk(walked, 3, extent, are_inside ? run_matrices : run_rows, &matmul);
}
