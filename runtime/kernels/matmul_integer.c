/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"

enum { A, B, ROWS, Y, SCRATCH, PARTIAL };
enum { BATCH_0, BATCH_1, MAJOR, MINOR };

/* The part of a call that is the same for all blocks, and one batch's matrices: bytes to them from
 * the first element of each operand. */
struct product {
    const struct tilewright_matmul_integer_attributes *attributes;
    const struct tilewright_view *operands;
    tilewright_block_finish *finish; /* NULL: the sums are not complete */
    ptrdiff_t a, b, y;
    int32_t begins; /* 1: the call computes the first part of the sums */
    int16_t *weights;
    int32_t *rows;
};

static ptrdiff_t bytes_to_batch(const struct tilewright_view *view, int32_t b0, int32_t b1)
{
    const int32_t *const stride = view->shape->stride;
    return (ptrdiff_t)b0 * stride[BATCH_0] + (ptrdiff_t)b1 * stride[BATCH_1];
}

/* Packs a column of b, less its zero point, as every fourth of the weights. Returns its sum. */
static int32_t pack_column(const struct product *product, int32_t column, int16_t *weights)
{
    const struct tilewright_matmul_integer_attributes *a = product->attributes;
    const struct tilewright_view *b = &product->operands[B];
    const struct tilewright_shape *shape = b->shape;
    const ptrdiff_t offset = product->b + (ptrdiff_t)column * shape->stride[MINOR];
    const int32_t taps = shape->extent[MAJOR], stride = shape->stride[MAJOR];
    /* A signed byte with its sign turned is the element plus 128. */
    const int32_t flip = a->b_is_unsigned != 0 ? 0 : 128, excess = a->b_zero_point + flip;
    int32_t sum = 0;

    for (int32_t done = 0; done < taps;) {
        const int32_t row = shape->origin[MAJOR] + done;
        const int32_t count = tilewright_rows_in_line(b, MAJOR, row, taps - done);
        const uint8_t *restrict from = tilewright_row(b, MAJOR, row) + offset;
        for (int32_t left = count; left > 0; left--) {
            const int32_t value = (*from ^ flip) - excess;
            *weights = (int16_t)value;
            sum += value;
            from += stride;
            weights += TILEWRIGHT_BLOCK;
        }
        done += count;
    }
    return sum;
}

/* Packs four columns of b from n on as weights[tap][4], and writes the rows of constants. The bias
 * in a row subtracts the products of a's zero point; the operator's bias is added to the first part
 * of the sums. Behind the last column, that column is packed again; the results are not stored. */
static void pack_columns(const struct product *product, int32_t n)
{
    const struct tilewright_matmul_integer_attributes *a = product->attributes;
    const int32_t last = product->operands[Y].shape->extent[MINOR] - 1;
    const int32_t *constants =
        (const int32_t *)(const void *)product->operands[ROWS].base + n * TILEWRIGHT_ROW_WORDS;
    int32_t *row = product->rows;

    for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
        const int32_t sum =
            pack_column(product, tilewright_smaller(n + c, last), product->weights + c);
        for (int32_t i = 0; i < TILEWRIGHT_ROW_WORDS; i++) {
            row[i] = constants[i];
        }
        row[0] = product->begins * row[0] - a->a_zero_point * sum;
        row += TILEWRIGHT_ROW_WORDS;
        constants += TILEWRIGHT_ROW_WORDS;
    }
}

/* Multiplies four rows of a from m on by the packed columns. */
static void multiply(const struct product *product, int32_t m, int32_t n,
                     struct tilewright_sink *sink)
{
    const struct tilewright_view *a = &product->operands[A], *y = &product->operands[Y];
    const int32_t taps = a->shape->extent[MINOR];
    const int32_t last = y->shape->extent[MAJOR] - 1;
    const ptrdiff_t to = product->y + (ptrdiff_t)n * y->shape->stride[MINOR];
    uint8_t *columns = product->operands[SCRATCH].base;
    const uint8_t *runs[TILEWRIGHT_BLOCK];

    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        const int32_t row = tilewright_smaller(m + i, last);
        runs[i] = tilewright_row(a, MAJOR, a->shape->origin[MAJOR] + row) + product->a;
        sink->pixel[i] = tilewright_row(y, MAJOR, y->shape->origin[MAJOR] + row) + to;
    }
    tilewright_interleave(columns, runs, taps, a->shape->stride[MINOR]);
    if (product->attributes->a_is_unsigned != 0) {
        tilewright_flip(columns, TILEWRIGHT_BLOCK * taps);
    }
    if (sink->start != NULL) {
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK_SUMS; i++) {
            sink->sums[i] += product->rows[i / TILEWRIGHT_BLOCK * TILEWRIGHT_ROW_WORDS];
        }
    }
    tilewright_products_wide(sink, columns, taps, (const uint8_t *)product->weights, product->rows,
                             tilewright_smaller(TILEWRIGHT_BLOCK, y->shape->extent[MINOR] - n),
                             product->finish);
}

void tilewright_matmul_integer(const struct tilewright_matmul_integer_attributes *a,
                               const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *out = operands[Y].shape;
    const struct tilewright_rule rule = {a->finish, TILEWRIGHT_ROW_WORDS, 1};
    struct tilewright_sink sink;
    struct product product;

    product.attributes = a;
    product.operands = operands;
    product.finish = (flags & TILEWRIGHT_LAST) != 0 ? a->finish : NULL;
    product.begins = (flags & TILEWRIGHT_FIRST) != 0;
    product.weights = (int16_t *)(void *)(operands[SCRATCH].base + a->weights_at);
    product.rows = (int32_t *)(void *)(operands[SCRATCH].base + a->rows_at);
    tilewright_open(&sink, &rule, out->stride[MINOR], TILEWRIGHT_BLOCK, &operands[PARTIAL], flags);
    sink.limits = (struct tilewright_limits){a->minimum, a->maximum, 0, 0};
    for (int32_t batch = 0; batch < out->extent[BATCH_0] * out->extent[BATCH_1]; batch++) {
        const int32_t b0 = batch / out->extent[BATCH_1];
        const int32_t b1 = batch % out->extent[BATCH_1];
        product.a = bytes_to_batch(&operands[A], b0, b1);
        product.b = bytes_to_batch(&operands[B], b0, b1);
        product.y = bytes_to_batch(&operands[Y], b0, b1);
        for (int32_t n = 0; n < out->extent[MINOR]; n += TILEWRIGHT_BLOCK) {
            pack_columns(&product, n);
            for (int32_t m = 0; m < out->extent[MAJOR]; m += TILEWRIGHT_BLOCK) {
                multiply(&product, m, n, &sink);
            }
        }
    }
}
