/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/halves_finish.h"
#include "tilewright/kernels/spread_axis.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* Channels of y that are computed together; their weights alternate. */
enum { BLOCK = TILEWRIGHT_HALVES_BLOCK };

/* Elements of x side by side: their first byte, counted from the window's place in x, their number,
 * and which element of the window is the first one. */
struct run {
    int32_t x, first, count;
};
_Static_assert(sizeof(struct run) == TILEWRIGHT_HALVES_RUN_BYTES, "struct run");

struct conv {
    const struct tilewright_conv_halves_block_attributes *attributes;
    const struct tilewright_view *operands;
    struct tilewright_halves_limits limits;
    struct run *runs;
    int32_t count; /* of runs */
    int32_t taps;  /* elements of a window */
};

/* Lists what a window has of x, whose first row and column are `top` and `left`; with `inside`, it
 * has all of its columns, and the list holds for every such window of the row. */
static void list_runs(struct conv *conv, int32_t top, int32_t left, int32_t inside)
{
    const struct tilewright_conv_halves_block_attributes *a = conv->attributes;
    const struct tilewright_view *x = &conv->operands[X];
    const struct tilewright_shape *shape = x->shape;
    const int32_t inputs = a->inputs;
    struct run *run = conv->runs;

    for (int32_t i = 0; i < a->kernel[0]; i++) {
        const int32_t row =
            tilewright_spread_source(shape, HEIGHT, top + i * a->dilations[0], a->spread[0]);
        if (row < 0) {
            continue;
        }
        const int32_t line = (int32_t)(tilewright_row(x, HEIGHT, row) - x->base);
        for (int32_t j = 0; j < a->kernel[1]; j++) {
            int32_t column = j * a->dilations[1];
            if (inside == 0) {
                column = tilewright_spread_source(shape, WIDTH, left + column, a->spread[1]);
                if (column < 0) {
                    continue;
                }
                column -= shape->origin[WIDTH];
            }
            const int32_t at = line + column * shape->stride[WIDTH];
            const int32_t first = (i * a->kernel[1] + j) * inputs;
            if (run != conv->runs && run[-1].x + 2 * run[-1].count == at &&
                run[-1].first + run[-1].count == first) {
                run[-1].count += inputs;
            } else {
                *run++ = (struct run){at, first, inputs};
            }
        }
    }
    conv->count = (int32_t)(run - conv->runs);
}

/* Adds to the sums of four channels of a pixel. */
static TILEWRIGHT_NOINLINE void add_one(int32_t *sums, const struct conv *conv, const uint8_t *x,
                                        const int8_t *weights)
{
    const struct run *run = conv->runs;
    const struct run *const end = run + conv->count;
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    for (; run != end; run++) {
        const int16_t *p = (const int16_t *)(const void *)(x + run->x);
        const int16_t *const last = p + run->count;
        const int8_t *w = weights + BLOCK * run->first;
        do {
            const int32_t a = *p++;
            s0 += a * w[0];
            s1 += a * w[1];
            s2 += a * w[2];
            s3 += a * w[3];
            w += BLOCK;
        } while (p != last);
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* Adds to the sums of four channels of two pixels, which are `beside` bytes apart. */
static TILEWRIGHT_NOINLINE void add_two(int32_t *sums, const struct conv *conv, const uint8_t *x,
                                        ptrdiff_t beside, const int8_t *weights)
{
    const struct run *run = conv->runs;
    const struct run *const end = run + conv->count;
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    int32_t t0 = s0, t1 = s1, t2 = s2, t3 = s3;
    for (; run != end; run++) {
        const uint8_t *const place = x + run->x;
        const int16_t *p = (const int16_t *)(const void *)place;
        const int16_t *q = (const int16_t *)(const void *)(place + beside);
        const int16_t *const last = p + run->count;
        const int8_t *w = weights + BLOCK * run->first;
        do {
            const int32_t a = *p++, b = *q++;
            const int32_t w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
            s0 += a * w0;
            t0 += b * w0;
            s1 += a * w1;
            t1 += b * w1;
            s2 += a * w2;
            t2 += b * w2;
            s3 += a * w3;
            t3 += b * w3;
            w += BLOCK;
        } while (p != last);
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
    sums[4] = t0;
    sums[5] = t1;
    sums[6] = t2;
    sums[7] = t3;
}

/* The sum of a channel whose weights stand alone. */
static TILEWRIGHT_NOINLINE int32_t alone(int32_t sum, const struct conv *conv, const uint8_t *x,
                                         const int8_t *weights)
{
    const struct run *run = conv->runs;
    const struct run *const end = run + conv->count;
    for (; run != end; run++) {
        const int16_t *p = (const int16_t *)(const void *)(x + run->x);
        const int16_t *const last = p + run->count;
        const int8_t *w = weights + run->first;
        do {
            sum += *p++ * *w++;
        } while (p != last);
    }
    return sum;
}

/* Computes all channels of one pixel, or of two side by side; y is the first one's place. */
static void pixels(const struct conv *conv, const uint8_t *x, uint8_t *y, int32_t count)
{
    const struct tilewright_shape *shape = conv->operands[Y].shape;
    const int8_t *weights = (const int8_t *)conv->operands[WEIGHTS].base;
    const int32_t *row = (const int32_t *)(const void *)conv->operands[ROWS].base;
    const int32_t next = shape->stride[CHANNEL], across = shape->stride[WIDTH];
    const int32_t beside = conv->attributes->strides[1] * conv->operands[X].shape->stride[WIDTH];
    int32_t left = shape->extent[CHANNEL];

    for (; left >= BLOCK; left -= BLOCK) {
        int32_t sums[2 * BLOCK];
        for (int32_t c = 0; c < BLOCK; c++) {
            sums[c] = row[c * TILEWRIGHT_HALVES_WORDS + TILEWRIGHT_HALVES_BIAS];
        }
        if (count == 2) {
            add_two(sums, conv, x, beside, weights);
        } else {
            add_one(sums, conv, x, weights);
        }
        for (int32_t c = 0; c < BLOCK; c++) {
            tilewright_store_halves(y, sums[c], row, conv->limits);
            if (count == 2) {
                tilewright_store_halves(y + across, sums[BLOCK + c], row, conv->limits);
            }
            y += next;
            row += TILEWRIGHT_HALVES_WORDS;
        }
        weights += BLOCK * conv->taps;
    }
    for (; left > 0; left--) {
        for (int32_t i = 0; i < count; i++) {
            const int32_t sum =
                alone(row[TILEWRIGHT_HALVES_BIAS], conv, x + (ptrdiff_t)i * beside, weights);
            tilewright_store_halves(y + (ptrdiff_t)i * across, sum, row, conv->limits);
        }
        y += next;
        row += TILEWRIGHT_HALVES_WORDS;
        weights += conv->taps;
    }
}

/* Computes a row of y. */
static void row_of(struct conv *conv, const uint8_t *x, uint8_t *y, int32_t top)
{
    const struct tilewright_conv_halves_block_attributes *a = conv->attributes;
    const struct tilewright_shape *shape = conv->operands[Y].shape;
    const struct tilewright_shape *source_shape = conv->operands[X].shape;
    const int32_t stride = a->strides[1], origin = source_shape->origin[WIDTH];
    const int32_t reach = (a->kernel[1] - 1) * a->dilations[1];
    const int32_t last = origin + source_shape->extent[WIDTH] - 1 - reach;
    int32_t is_listed = 0;

    for (int32_t j = 0; j < shape->extent[WIDTH];) {
        const int32_t left = (shape->origin[WIDTH] + j) * stride - a->pads[1];
        const int32_t inside = a->spread[1] == 1 && left >= origin && left <= last;
        const int32_t count =
            inside && left + stride <= last && j + 1 < shape->extent[WIDTH] ? 2 : 1;
        if (inside == 0 || is_listed == 0) {
            list_runs(conv, top, left, inside);
            is_listed = inside;
        }
        const ptrdiff_t place =
            inside ? (ptrdiff_t)(left - origin) * source_shape->stride[WIDTH] : 0;
        pixels(conv, x + place, y, count);
        y += (ptrdiff_t)count * shape->stride[WIDTH];
        j += count;
    }
}

void tilewright_conv_halves_block(const struct tilewright_conv_halves_block_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *shape = operands[Y].shape;
    struct conv conv = {attributes,
                        operands,
                        {attributes->finish, attributes->minimum, attributes->maximum},
                        (struct run *)(void *)operands[SCRATCH].base,
                        0,
                        attributes->kernel[0] * attributes->kernel[1] * attributes->inputs};

    (void)flags;
    for (int32_t n = 0; n < shape->extent[BATCH]; n++) {
        const uint8_t *x = operands[X].base + (ptrdiff_t)n * operands[X].shape->stride[BATCH];
        for (int32_t i = 0; i < shape->extent[HEIGHT]; i++) {
            const int32_t oh = shape->origin[HEIGHT] + i;
            row_of(&conv, x,
                   tilewright_row(&operands[Y], HEIGHT, oh) + (ptrdiff_t)n * shape->stride[BATCH],
                   oh * attributes->strides[0] - attributes->pads[0]);
        }
    }
}
