/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"

enum { A, B, ROWS, Y, SCRATCH, PARTIAL };
enum { BATCH_0, BATCH_1, MAJOR, MINOR };

/* Address of element [b0, b1, major, minor] of the tile. */
static uint8_t *at(const struct tilewright_view *view, int32_t b0, int32_t b1, int32_t major,
                   int32_t minor)
{
    const struct tilewright_shape *shape = view->shape;
    return tilewright_row(view, MAJOR, shape->origin[MAJOR] + major) +
           (ptrdiff_t)b0 * shape->stride[BATCH_0] + (ptrdiff_t)b1 * shape->stride[BATCH_1] +
           (ptrdiff_t)minor * shape->stride[MINOR];
}

/* Packs four columns of b, less their zero point, as weights[tap][4], and writes the rows of
 * constants. The bias in a row subtracts the products of a's zero point; if `begins`, the call
 * computes the first part of the sums and the operator's bias is added. Behind the last column,
 * that column is packed again; the results are not stored. */
static void pack_columns(const struct tilewright_matmul_integer_attributes *a,
                         const struct tilewright_view *operands, int32_t b0, int32_t b1, int32_t n,
                         int16_t *weights, int32_t *rows, int32_t begins)
{
    const struct tilewright_shape *shape = operands[B].shape;
    const int32_t *constants =
        (const int32_t *)(const void *)operands[ROWS].base + n * TILEWRIGHT_ROW_WORDS;

    for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
        const int32_t column = tilewright_smaller(n + c, operands[Y].shape->extent[MINOR] - 1);
        int32_t sum = 0;
        for (int32_t k = 0; k < shape->extent[MAJOR]; k++) {
            const uint8_t *byte = at(&operands[B], b0, b1, k, column);
            const int32_t value = a->b_is_unsigned != 0 ? *byte : *(const int8_t *)byte;
            weights[k * TILEWRIGHT_BLOCK + c] = (int16_t)(value - a->b_zero_point);
            sum += value - a->b_zero_point;
        }
        for (int32_t i = 0; i < TILEWRIGHT_ROW_WORDS; i++) {
            rows[c * TILEWRIGHT_ROW_WORDS + i] = constants[c * TILEWRIGHT_ROW_WORDS + i];
        }
        rows[c * TILEWRIGHT_ROW_WORDS] =
            begins * rows[c * TILEWRIGHT_ROW_WORDS] - a->a_zero_point * sum;
    }
}

/* Multiplies four rows of a by the packed columns. */
static void multiply(const struct tilewright_matmul_integer_attributes *a,
                     const struct tilewright_view *operands, int32_t b0, int32_t b1, int32_t m,
                     int32_t n, struct tilewright_sink *sink, const int32_t *rows,
                     tilewright_block_finish *finish)
{
    const struct tilewright_shape *in = operands[A].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t taps = in->extent[MINOR];
    uint8_t *columns = operands[SCRATCH].base;
    const uint8_t *runs[TILEWRIGHT_BLOCK];

    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        const int32_t row = tilewright_smaller(m + i, out->extent[MAJOR] - 1);
        runs[i] = at(&operands[A], b0, b1, row, 0);
        sink->pixel[i] = at(&operands[Y], b0, b1, row, n);
    }
    tilewright_interleave(columns, runs, taps, in->stride[MINOR]);
    if (a->a_is_unsigned != 0) {
        tilewright_flip(columns, TILEWRIGHT_BLOCK * taps);
    }
    if (sink->start != NULL) {
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK_SUMS; i++) {
            sink->sums[i] += rows[i / TILEWRIGHT_BLOCK * TILEWRIGHT_ROW_WORDS];
        }
    }
    tilewright_products_wide(sink, columns, taps, columns + a->weights_at, rows,
                             tilewright_smaller(TILEWRIGHT_BLOCK, out->extent[MINOR] - n), finish);
}

void tilewright_matmul_integer(const struct tilewright_matmul_integer_attributes *a,
                               const struct tilewright_view *operands, uint32_t flags)
{
    tilewright_block_finish *const finish = a->finish;
    const struct tilewright_shape *out = operands[Y].shape;
    const struct tilewright_rule rule = {finish, TILEWRIGHT_ROW_WORDS, 1};
    const int32_t begins = (flags & TILEWRIGHT_FIRST) != 0;
    uint8_t *weights = operands[SCRATCH].base + a->weights_at;
    int32_t *rows = (int32_t *)(void *)(operands[SCRATCH].base + a->rows_at);
    struct tilewright_sink sink;

    tilewright_open(&sink, &rule, out->stride[MINOR], TILEWRIGHT_BLOCK, &operands[PARTIAL], flags);
    sink.limits = (struct tilewright_limits){a->minimum, a->maximum, 0, 0};
    for (int32_t batch = 0; batch < out->extent[BATCH_0] * out->extent[BATCH_1]; batch++) {
        const int32_t b0 = batch / out->extent[BATCH_1];
        const int32_t b1 = batch % out->extent[BATCH_1];
        for (int32_t n = 0; n < out->extent[MINOR]; n += TILEWRIGHT_BLOCK) {
            pack_columns(a, operands, b0, b1, n, (int16_t *)(void *)weights, rows, begins);
            for (int32_t m = 0; m < out->extent[MAJOR]; m += TILEWRIGHT_BLOCK) {
                multiply(a, operands, b0, b1, m, n, &sink, rows,
                         (flags & TILEWRIGHT_LAST) != 0 ? finish : NULL);
            }
        }
    }
}
