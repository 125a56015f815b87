/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/depthwise_window.h"
#include "tilewright/kernels/xpulpv2_plane.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

enum { CHANNELS = 4, WORD = 4 };

/* Rows of y from which on a walk down is worth its columns' beginnings, however wide y is. */
enum { LEAST_SLIDE = 6 };

/* The padded windows of four channels, from which the tile of y is computed. Sizes are bytes. */
struct windows {
    uint8_t *bytes;
    int32_t size, pitch;
    int32_t first;         /* offset of the first element that the tile of x has */
    int32_t height, width; /* elements that the tile of x has */
};

/* Copies one row of four channels that lie side by side: four pixels at a time in rows of at least
 * eight, then a word (one pixel) at a time. */
static void spread(const struct windows *windows, uint8_t *to, const uint8_t *from, int32_t stride)
{
    int32_t left = windows->width;
    if (left >= 8) {
        const int32_t whole = left / 4 * 4;
        tilewright_xpulpv2_spread(to, from, stride, windows->size, whole / 4);
        to += whole;
        from += whole * stride;
        left -= whole;
    }
    uint8_t *a = to;
    uint8_t *b = a + windows->size;
    uint8_t *c = b + windows->size;
    uint8_t *d = c + windows->size;
    for (; left > 0; left--) {
        const uint32_t word = tilewright_load_word(from);
        *a++ = (uint8_t)word;
        *b++ = (uint8_t)(word >> 8);
        *c++ = (uint8_t)(word >> 16);
        *d++ = (uint8_t)(word >> 24);
        from += stride;
    }
}

static void copy(uint8_t *restrict to, const uint8_t *restrict from, int32_t stride, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = *from;
        from += stride;
    }
}

/* Copies the elements of x of up to four channels into their windows; the padding around them was
 * written once. */
static void load(const struct windows *windows, const struct tilewright_view *x, int32_t row,
                 ptrdiff_t offset, int32_t channels)
{
    const int32_t stride = x->shape->stride[WIDTH];
    const int32_t channel_stride = x->shape->stride[CHANNEL];
    if (windows->width <= 0) {
        return;
    }
    uint8_t *to = windows->bytes + windows->first;
    for (int32_t i = 0; i < windows->height; i++) {
        const uint8_t *from = tilewright_row(x, HEIGHT, row + i) + offset;
        const int is_aligned = (((uintptr_t)from | (uintptr_t)stride) & 3u) == 0;
        if (channels == CHANNELS && channel_stride == 1 && is_aligned) {
            spread(windows, to, from, stride);
        } else {
            for (int32_t c = 0; c < channels; c++) {
                copy(to + c * windows->size, from + c * channel_stride, stride, windows->width);
            }
        }
        to += windows->pitch;
    }
}

/* Computes a channel column by column: the sums of a column, then their finish. */
static TILEWRIGHT_NOINLINE void
by_line(struct tilewright_xpulpv2_plane *plane, const struct tilewright_limits *limits,
        const struct tilewright_view *y, ptrdiff_t offset, const int32_t *row,
        const struct tilewright_depthwise_xpulpv2_attributes *a, uint8_t *sums)
{
    const struct tilewright_line_rule *const rule = a->rule;
    const struct tilewright_shape *shape = y->shape;
    const int32_t rows = plane->rows;
    plane->out_down = 4;
    for (int32_t j = 0; j < shape->extent[WIDTH]; j++) {
        plane->out = sums;
        plane->columns = 1;
        a->sums(plane);
        const int32_t *sum = (const int32_t *)(const void *)sums;
        if (shape->ring_rows == 0) {
            rule->finish(limits, sum, row, y->base + offset, shape->stride[HEIGHT], rows);
        } else {
            for (int32_t i = 0; i < rows; i++) {
                uint8_t *at = tilewright_row(y, HEIGHT, shape->origin[HEIGHT] + i);
                rule->finish(limits, sum + i, row, at + offset, 0, 1);
            }
        }
        offset += shape->stride[WIDTH];
    }
}

/* Fills whole words. A core that jumps back loses two cycles, hence four words at a time. */
static void fill(uint8_t *from, const uint8_t *end, uint32_t padding)
{
    for (; end - from >= 4 * WORD; from += 4 * WORD) {
        tilewright_store_word(from, padding);
        tilewright_store_word(from + WORD, padding);
        tilewright_store_word(from + 2 * WORD, padding);
        tilewright_store_word(from + 3 * WORD, padding);
    }
    while (from != end) {
        tilewright_store_word(from, padding);
        from += WORD;
    }
}

/* Writes the padding around the elements of x in one channel's window, in whole words; all words
 * where rows are so short that finding the border takes longer. */
static TILEWRIGHT_NOINLINE void pad(const struct windows *windows, uint8_t *at, uint32_t padding,
                                    const struct tilewright_depthwise_axis *rows,
                                    const struct tilewright_depthwise_axis *columns)
{
    const int32_t behind = (columns->first + columns->held) / WORD * WORD;
    const uint8_t *const end = at + windows->size;
    for (int32_t i = 0; i < rows->extent && windows->pitch > 4 * WORD; i++) {
        uint8_t *const next = at + windows->pitch;
        const int is_held = (uint32_t)(i - rows->first) < (uint32_t)rows->held;
        if (!is_held || columns->held <= 0) {
            fill(at, next, padding);
        } else {
            tilewright_store_word(at, padding);
            fill(at + behind, next, padding);
        }
        at = next;
    }
    fill(at, end, padding);
}

/* Sets up the windows and writes their padding. *top and *left become the row and column of the
 * first element of x in the windows. */
static struct windows open(const struct tilewright_depthwise_xpulpv2_attributes *a,
                           const struct tilewright_view *operands, int32_t *top, int32_t *left)
{
    struct windows windows;
    const struct tilewright_geometry geometry = {a->kernel, a->strides, a->dilations, a->pads};
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const struct tilewright_depthwise_axis rows =
        tilewright_depthwise_axis(&geometry, in, out, HEIGHT);
    const struct tilewright_depthwise_axis columns =
        tilewright_depthwise_axis(&geometry, in, out, WIDTH);
    *top = rows.begin + rows.first;
    *left = columns.begin + columns.first;
    windows.height = rows.held;
    windows.width = columns.held;
    windows.bytes = operands[SCRATCH].base;
    windows.pitch = (columns.extent + 3) / 4 * 4 + 4;
    windows.size = rows.extent * windows.pitch + 8;
    windows.first = rows.first * windows.pitch + columns.first;
    for (int32_t c = 0; c < CHANNELS; c++) {
        pad(&windows, windows.bytes + c * windows.size, (uint32_t)a->padding * 0x01010101u, &rows,
            &columns);
    }
    return windows;
}

void tilewright_depthwise_xpulpv2(const struct tilewright_depthwise_xpulpv2_attributes *a,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_line_rule *const rule = a->rule;
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_view *y = &operands[Y];
    const struct tilewright_shape *out = y->shape;
    const struct tilewright_limits limits = TILEWRIGHT_LIMITS(a);
    const int32_t kernel_bytes = a->kernel[0] * ((a->kernel[1] + WORD - 1) / WORD * WORD);
    const int32_t row_words = rule->row_words;
    tilewright_xpulpv2_column *const finished = out->ring_rows == 0 ? a->finished : NULL;
    int32_t top, left;
    const struct windows windows = open(a, operands, &top, &left);
    const ptrdiff_t skip = (ptrdiff_t)(left - in->origin[WIDTH]) * in->stride[WIDTH];
    struct tilewright_xpulpv2_plane plane;

    /* Functions that finish walk in the direction in which the tile is longer: fewer beginnings.
     * But walks down keep two rows of each window of three. */
    const int slides = a->kernel[0] == 3 && a->strides[0] == a->dilations[0];
    const int is_long = slides && out->extent[HEIGHT] >= LEAST_SLIDE;
    const int is_wide = finished != NULL && !is_long && out->extent[WIDTH] > out->extent[HEIGHT];
    const int32_t inner = is_wide ? WIDTH : HEIGHT;
    const int32_t outer = HEIGHT + WIDTH - inner;
    plane.pitch = a->dilations[0] * windows.pitch;
    plane.down = is_wide ? a->strides[1] : a->strides[0] * windows.pitch;
    plane.across = is_wide ? a->strides[0] * windows.pitch : a->strides[1];
    plane.rows = out->extent[inner];
    plane.addend = limits.addend;
    plane.shift = limits.shift;
    plane.minimum = limits.minimum;
    plane.maximum = limits.maximum;
    (void)flags;
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        const int32_t *constants = (const int32_t *)(const void *)operands[ROWS].base;
        plane.weights = (const int8_t *)operands[WEIGHTS].base;
        for (int32_t c = 0; c < out->extent[CHANNEL]; c++) {
            if (c % CHANNELS == 0) {
                load(&windows, &operands[X], top,
                     skip + (ptrdiff_t)n * in->stride[BATCH] + (ptrdiff_t)c * in->stride[CHANNEL],
                     tilewright_smaller(out->extent[CHANNEL] - c, CHANNELS));
            }
            const ptrdiff_t offset =
                (ptrdiff_t)n * out->stride[BATCH] + (ptrdiff_t)c * out->stride[CHANNEL];
            plane.bytes = windows.bytes + c % CHANNELS * windows.size;
            plane.bias = rule->biased != 0 ? constants[0] : 0;
            if (finished != NULL) {
                plane.multiplier = constants[rule->biased];
                /* A row of bias and multiplier alone has no addend; the layer's addend is set. */
                if (row_words != 1 + rule->biased) {
                    plane.addend = constants[rule->biased + 1];
                }
                if (row_words == TILEWRIGHT_ROW_WORDS) {
                    plane.shift = constants[3];
                }
                plane.out = y->base + offset;
                plane.out_down = out->stride[inner];
                plane.out_across = out->stride[outer];
                plane.columns = out->extent[outer];
                finished(&plane);
            } else {
                by_line(&plane, &limits, y, offset, constants, a,
                        windows.bytes + CHANNELS * windows.size);
            }
            plane.weights += kernel_bytes;
            constants += row_words;
        }
    }
}
