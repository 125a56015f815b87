/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/depthwise_window.h"
#include "tilewright/kernels/xpulpv2_fill.h"
#include "tilewright/kernels/xpulpv2_plane.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

enum { CHANNELS = 4, WORD = 4 };

/* Bytes of a window's row up to which its padding is written over all of it. */
enum { LEAST_BORDERED = 32 };

/* Rows of y from which on a walk down is worth its columns' beginnings, however wide y is. */
enum { LEAST_SLIDE = 6 };

/* The padded windows of four channels, from which the tile of y is computed. Sizes are bytes. */
struct windows {
    uint8_t *bytes;
    int32_t size, pitch;
    int32_t first;         /* offset of the first element that the tile of x has */
    int32_t height, width; /* elements that the tile of x has */
};

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
    const struct tilewright_shape *in = x->shape;
    const int32_t stride = in->stride[WIDTH];
    const int32_t channel_stride = in->stride[CHANNEL];
    const int32_t width = windows->width;
    if (width <= 0) {
        return;
    }
    uint8_t *to = windows->bytes + windows->first;
    const int is_beside = channels == CHANNELS && channel_stride == 1 && width >= WORD;
    for (int32_t i = 0; i < windows->height;) {
        const uint8_t *from = tilewright_row(x, HEIGHT, row + i) + offset;
        int32_t rows = 1;
        if (is_beside) {
            rows = tilewright_rows_in_line(x, HEIGHT, row + i, windows->height - i);
            tilewright_xpulpv2_spread(to, from, stride, windows->size, width, rows, windows->pitch,
                                      in->stride[HEIGHT]);
        } else {
            for (int32_t c = 0; c < channels; c++) {
                copy(to + c * windows->size, from + c * channel_stride, stride, width);
            }
        }
        to += rows * windows->pitch;
        i += rows;
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
        plane->pairs = 0;
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

/* Computes a channel in two pieces where rows of y go on at the beginning of a ring. Outputs follow
 * each other along axis `inner`; `lines` of them lie beside each other, 2 * `pairs` in pairs. */
static TILEWRIGHT_NOINLINE void in_ring(struct tilewright_xpulpv2_plane *plane,
                                        const struct tilewright_view *y, ptrdiff_t offset,
                                        int32_t inner, int32_t lines, int32_t pairs,
                                        tilewright_xpulpv2_column *finished)
{
    const int32_t rows = y->shape->extent[HEIGHT];
    const int32_t first = y->shape->origin[HEIGHT];
    const int32_t next = inner == HEIGHT ? plane->down : plane->across;
    const uint8_t *const bytes = plane->bytes;
    for (int32_t done = 0; done < rows;) {
        const int32_t count = tilewright_rows_in_line(y, HEIGHT, first + done, rows - done);
        if (inner == HEIGHT) {
            plane->rows = count;
        } else {
            lines = count;
        }
        plane->bytes = bytes + done * next;
        plane->out = tilewright_row(y, HEIGHT, first + done) + offset;
        plane->pairs = pairs;
        plane->columns = lines - 2 * pairs;
        finished(plane);
        done += count;
    }
}

/* Writes the padding around the elements of x in one channel's window, in whole words. */
static TILEWRIGHT_NOINLINE void pad(const struct windows *windows, uint8_t *at, uint32_t padding,
                                    const struct tilewright_depthwise_axis *rows,
                                    const struct tilewright_depthwise_axis *columns)
{
    const int32_t behind = (columns->first + columns->held) / WORD * WORD;
    const uint8_t *const end = at + windows->size;
    for (int32_t i = 0; i < rows->extent; i++) {
        uint8_t *const next = at + windows->pitch;
        const int is_held = (uint32_t)(i - rows->first) < (uint32_t)rows->held;
        if (!is_held || columns->held <= 0) {
            tilewright_xpulpv2_fill(at, next, padding);
        } else {
            tilewright_store_word(at, padding);
            tilewright_xpulpv2_fill(at + behind, next, padding);
        }
        at = next;
    }
    tilewright_xpulpv2_fill(at, end, padding);
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
    const uint32_t padding = (uint32_t)a->padding * 0x01010101u;
    /* All words where rows are so short that finding the border takes longer. */
    if (windows.pitch <= LEAST_BORDERED) {
        tilewright_xpulpv2_fill(windows.bytes, windows.bytes + CHANNELS * windows.size, padding);
        return windows;
    }
    for (int32_t c = 0; c < CHANNELS; c++) {
        pad(&windows, windows.bytes + c * windows.size, padding, &rows, &columns);
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
    tilewright_xpulpv2_column *const finished = a->finished;
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
    plane.out_down = out->stride[inner];
    plane.out_across = out->stride[outer];
    /* Taps of two columns lie in one word if the fourth weight is padding. */
    const int32_t lines = out->extent[outer];
    const int has_pairs =
        finished != NULL && slides && !is_wide && a->kernel[1] < WORD && a->strides[1] == 1;
    const int32_t pairs = has_pairs ? lines / 2 : 0;
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
                if (out->ring_rows != 0) {
                    in_ring(&plane, y, offset, inner, lines, pairs, finished);
                } else {
                    plane.out = y->base + offset;
                    plane.pairs = pairs;
                    plane.columns = lines - 2 * pairs;
                    finished(&plane);
                }
            } else {
                by_line(&plane, &limits, y, offset, constants, a,
                        windows.bytes + CHANNELS * windows.size);
            }
            plane.weights += kernel_bytes;
            constants += row_words;
        }
    }
}
