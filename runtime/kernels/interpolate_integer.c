/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/integer_line.h"

enum { X, ROWS, COLUMNS, RULE, Y };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };
enum { SHARE_BITS = 12 };

/* Two neighbours on an axis. The second one is at `first` where its share is 0, so that nothing
 * behind the end of the axis is read. */
struct neighbours {
    int32_t first, second;
    int32_t shares[2];
};

/* The four elements of x that one element of y is the mean of, for the next channel. */
struct corners {
    const uint8_t *at[4];
    int32_t share[4];
};

void tilewright_line_cut(const struct tilewright_limits *limits, const int32_t *sums,
                         const int32_t *row, uint8_t *out, int32_t stride, int32_t count)
{
    const int32_t unit = row[1];
    (void)limits;
    for (int32_t i = 0; i < count; i++) {
        *out = (uint8_t)(sums[i] / unit);
        out += stride;
    }
}

static struct neighbours neighbours_of(const struct tilewright_view *table, int32_t i, int32_t unit)
{
    const int32_t word = ((const int32_t *)(const void *)table->base)[i];
    const int32_t share = word & ((1 << SHARE_BITS) - 1);
    const int32_t first = word >> SHARE_BITS;
    const struct neighbours neighbours = {
        first, share != 0 ? first + 1 : first, {unit - share, share}};
    return neighbours;
}

/* Sums for the next `count` channels, `stride` bytes apart. */
static TILEWRIGHT_NOINLINE void add_corners(struct corners *corners, int32_t *sums, int32_t count,
                                            int32_t stride, int32_t flip, int32_t bias)
{
    const uint8_t *a = corners->at[0];
    const uint8_t *b = corners->at[1];
    const uint8_t *c = corners->at[2];
    const uint8_t *d = corners->at[3];
    const int32_t share_a = corners->share[0];
    const int32_t share_b = corners->share[1];
    const int32_t share_c = corners->share[2];
    const int32_t share_d = corners->share[3];
    for (; count > 0; count--) {
        *sums++ = bias + (*a ^ flip) * share_a + (*b ^ flip) * share_b + (*c ^ flip) * share_c +
                  (*d ^ flip) * share_d;
        a += stride;
        b += stride;
        c += stride;
        d += stride;
    }
    corners->at[0] = a;
    corners->at[1] = b;
    corners->at[2] = c;
    corners->at[3] = d;
}

/* Computes all channels of one element of y. */
static void run_pixel(const struct tilewright_interpolate_integer_attributes *attributes,
                      const struct tilewright_view *operands, struct corners *corners, uint8_t *out)
{
    const struct tilewright_limits limits = {attributes->minimum, attributes->maximum, 0, 0};
    const int32_t *row = (const int32_t *)(const void *)operands[RULE].base;
    const int32_t channels = operands[Y].shape->extent[CHANNEL];
    const int32_t stride = operands[Y].shape->stride[CHANNEL];
    int32_t sums[TILEWRIGHT_LINE];

    for (int32_t done = 0; done < channels; done += TILEWRIGHT_LINE) {
        const int32_t count = tilewright_smaller(channels - done, TILEWRIGHT_LINE);
        add_corners(corners, sums, count, operands[X].shape->stride[CHANNEL], attributes->flip,
                    row[0]);
        attributes->finish(&limits, sums, row, out, stride, count);
        out += (ptrdiff_t)count * stride;
    }
}

/* Computes row i of y, counted from the tile's first one, of batch entry n. */
static void run_row(const struct tilewright_interpolate_integer_attributes *attributes,
                    const struct tilewright_view *operands, int32_t n, int32_t i)
{
    const struct tilewright_shape *x = operands[X].shape;
    const struct tilewright_shape *y = operands[Y].shape;
    const struct neighbours rows = neighbours_of(&operands[ROWS], i, attributes->row_unit);
    const ptrdiff_t entry = (ptrdiff_t)n * x->stride[BATCH];
    const uint8_t *top = tilewright_row(&operands[X], HEIGHT, rows.first) + entry;
    const uint8_t *bottom = tilewright_row(&operands[X], HEIGHT, rows.second) + entry;
    uint8_t *out = tilewright_row(&operands[Y], HEIGHT, y->origin[HEIGHT] + i) +
                   (ptrdiff_t)n * y->stride[BATCH];

    for (int32_t j = 0; j < y->extent[WIDTH]; j++) {
        const struct neighbours columns =
            neighbours_of(&operands[COLUMNS], j, attributes->column_unit);
        const ptrdiff_t left = (ptrdiff_t)(columns.first - x->origin[WIDTH]) * x->stride[WIDTH];
        const ptrdiff_t right = (ptrdiff_t)(columns.second - x->origin[WIDTH]) * x->stride[WIDTH];
        struct corners corners = {
            {top + left, top + right, bottom + left, bottom + right},
            {rows.shares[0] * columns.shares[0], rows.shares[0] * columns.shares[1],
             rows.shares[1] * columns.shares[0], rows.shares[1] * columns.shares[1]}};
        run_pixel(attributes, operands, &corners, out);
        out += y->stride[WIDTH];
    }
}

void tilewright_interpolate_integer(
    const struct tilewright_interpolate_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *y = operands[Y].shape;

    (void)flags;
    for (int32_t n = 0; n < y->extent[BATCH]; n++) {
        for (int32_t i = 0; i < y->extent[HEIGHT]; i++) {
            run_row(attributes, operands, n, i);
        }
    }
}
