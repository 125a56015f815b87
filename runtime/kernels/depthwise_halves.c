/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/halves_finish.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* Channels that are computed together; their weights alternate. */
enum { BLOCK = TILEWRIGHT_HALVES_BLOCK };

/* A row of windows that lies in x: its first byte, counted from the image's, and which row of the
 * window it is. */
struct line {
    int32_t x, number;
};
_Static_assert(sizeof(struct line) == TILEWRIGHT_HALVES_LINE_BYTES, "struct line");

/* What the pixels of a row of y share. */
struct walk {
    const struct tilewright_depthwise_halves_attributes *attributes;
    const struct tilewright_view *operands;
    struct tilewright_halves_limits limits;
    struct line *lines;
    int32_t count; /* of lines */
    int32_t step;  /* bytes of x from one column of a window to the next */
};

/* The columns of one window that lie in x. */
struct columns {
    const uint8_t *x; /* the first one, in the image's first row */
    int32_t first, count;
};

/* Adds the products of a window to the sums of four channels. */
static TILEWRIGHT_NOINLINE void add_four(int32_t *sums, const struct walk *walk,
                                         const struct columns *columns, int32_t channel,
                                         const int8_t *weights)
{
    const int32_t step = walk->step, width = walk->attributes->kernel[1];
    const struct line *line = walk->lines;
    const struct line *const end = line + walk->count;
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    for (; line != end; line++) {
        const uint8_t *place = columns->x + line->x + 2 * channel;
        const int8_t *w = weights + BLOCK * (line->number * width + columns->first);
        const int8_t *const last = w + BLOCK * columns->count;
        while (w != last) {
            const int16_t *const p = (const int16_t *)(const void *)place;
            s0 += p[0] * w[0];
            s1 += p[1] * w[1];
            s2 += p[2] * w[2];
            s3 += p[3] * w[3];
            place += step;
            w += BLOCK;
        }
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* The sum of a channel whose weights stand alone. */
static TILEWRIGHT_NOINLINE int32_t alone(int32_t sum, const struct walk *walk,
                                         const struct columns *columns, int32_t channel,
                                         const int8_t *weights)
{
    for (int32_t i = 0; i < walk->count; i++) {
        const struct line *line = &walk->lines[i];
        const uint8_t *place = columns->x + line->x + 2 * channel;
        const int8_t *w = weights + line->number * walk->attributes->kernel[1] + columns->first;
        for (int32_t j = 0; j < columns->count; j++) {
            sum += *(const int16_t *)(const void *)place * w[j];
            place += walk->step;
        }
    }
    return sum;
}

/* Computes all channels of a pixel. */
static void pixel(const struct walk *walk, const struct columns *columns, uint8_t *y)
{
    const struct tilewright_depthwise_halves_attributes *a = walk->attributes;
    const struct tilewright_shape *shape = walk->operands[Y].shape;
    const int8_t *weights = (const int8_t *)walk->operands[WEIGHTS].base;
    const int32_t *row = (const int32_t *)(const void *)walk->operands[ROWS].base;
    const int32_t taps = a->kernel[0] * a->kernel[1], next = shape->stride[CHANNEL];
    const int32_t channels = shape->extent[CHANNEL];
    int32_t channel = 0;

    for (; channel + BLOCK <= channels; channel += BLOCK) {
        int32_t sums[BLOCK];
        for (int32_t c = 0; c < BLOCK; c++) {
            sums[c] = row[c * TILEWRIGHT_HALVES_WORDS + TILEWRIGHT_HALVES_BIAS];
        }
        add_four(sums, walk, columns, channel, weights);
        for (int32_t c = 0; c < BLOCK; c++) {
            tilewright_store_halves(y, sums[c], row, walk->limits);
            y += next;
            row += TILEWRIGHT_HALVES_WORDS;
        }
        weights += BLOCK * taps;
    }
    for (; channel < channels; channel++) {
        const int32_t sum = alone(row[TILEWRIGHT_HALVES_BIAS], walk, columns, channel, weights);
        tilewright_store_halves(y, sum, row, walk->limits);
        y += next;
        row += TILEWRIGHT_HALVES_WORDS;
        weights += taps;
    }
}

/* Lists the rows of x that windows have whose first row is `top`. */
static void list_lines(struct walk *walk, int32_t top)
{
    const struct tilewright_view *x = &walk->operands[X];
    const struct tilewright_shape *shape = x->shape;
    const int32_t end = shape->origin[HEIGHT] + shape->extent[HEIGHT];
    struct line *line = walk->lines;
    for (int32_t i = 0; i < walk->attributes->kernel[0]; i++) {
        const int32_t row = top + i * walk->attributes->dilations[0];
        if (row >= shape->origin[HEIGHT] && row < end) {
            *line++ = (struct line){(int32_t)(tilewright_row(x, HEIGHT, row) - x->base), i};
        }
    }
    walk->count = (int32_t)(line - walk->lines);
}

/* Computes a row of y; `x` is the image. */
static void row_of(const struct walk *walk, const uint8_t *x, uint8_t *y)
{
    const struct tilewright_depthwise_halves_attributes *a = walk->attributes;
    const struct tilewright_shape *shape = walk->operands[Y].shape;
    const struct tilewright_shape *source = walk->operands[X].shape;
    const int32_t dilation = a->dilations[1], end = source->extent[WIDTH];

    for (int32_t j = 0; j < shape->extent[WIDTH]; j++) {
        const int32_t left =
            (shape->origin[WIDTH] + j) * a->strides[1] - a->pads[1] - source->origin[WIDTH];
        struct columns columns = {x, 0, a->kernel[1]};
        int32_t first = left, last = left + (a->kernel[1] - 1) * dilation;
        for (; first < 0; first += dilation) {
            columns.first++;
            columns.count--;
        }
        for (; last >= end; last -= dilation) {
            columns.count--;
        }
        columns.count = columns.count > 0 ? columns.count : 0;
        columns.x += (ptrdiff_t)first * source->stride[WIDTH];
        pixel(walk, &columns, y);
        y += shape->stride[WIDTH];
    }
}

void tilewright_depthwise_halves(const struct tilewright_depthwise_halves_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *shape = operands[Y].shape;
    const struct tilewright_shape *source = operands[X].shape;
    struct walk walk = {attributes,
                        operands,
                        {attributes->finish, attributes->minimum, attributes->maximum},
                        (struct line *)(void *)operands[SCRATCH].base,
                        0,
                        attributes->dilations[1] * source->stride[WIDTH]};

    (void)flags;
    for (int32_t n = 0; n < shape->extent[BATCH]; n++) {
        for (int32_t i = 0; i < shape->extent[HEIGHT]; i++) {
            const int32_t oh = shape->origin[HEIGHT] + i;
            list_lines(&walk, oh * attributes->strides[0] - attributes->pads[0]);
            row_of(&walk, operands[X].base + (ptrdiff_t)n * source->stride[BATCH],
                   tilewright_row(&operands[Y], HEIGHT, oh) + (ptrdiff_t)n * shape->stride[BATCH]);
        }
    }
}
