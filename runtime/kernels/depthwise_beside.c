/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"

enum { X, WEIGHTS, ROWS, Y };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* The taps of a window: lines of `count` taps that are `step` bytes of x apart. */
struct taps {
    int32_t count, step;
    int32_t lines, pitch; /* `pitch` bytes of x from a line to the next */
};

/* Adds the products of four channels, which lie side by side in x; returns where the weights of the
 * next taps begin. */
TILEWRIGHT_INLINE const int8_t *add_four(int32_t *sums, const uint8_t *line, const int8_t *w,
                                         const struct taps *taps)
{
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    const int32_t step = taps->step;
    for (int32_t i = taps->lines; i > 0; i--) {
        const int8_t *x = (const int8_t *)line;
        for (int32_t left = taps->count; left > 0; left--) {
            s0 += x[0] * w[0];
            s1 += x[1] * w[1];
            s2 += x[2] * w[2];
            s3 += x[3] * w[3];
            x += step;
            w += TILEWRIGHT_BLOCK;
        }
        line += taps->pitch;
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
    return w;
}

/* The same of a single channel. */
TILEWRIGHT_INLINE const int8_t *add_one(int32_t *sum, const uint8_t *line, const int8_t *w,
                                        const struct taps *taps)
{
    for (int32_t i = taps->lines; i > 0; i--) {
        const int8_t *x = (const int8_t *)line;
        for (int32_t left = taps->count; left > 0; left--) {
            *sum += *x * *w++;
            x += taps->step;
        }
        line += taps->pitch;
    }
    return w;
}

/* Adds the products of one channel, or of four, of the window that begins with row `row` of x. Rows
 * of a ring that go on at its beginning are a piece of their own. */
TILEWRIGHT_INLINE const int8_t *add_window(int32_t *sums, const struct tilewright_view *x,
                                           int32_t row, ptrdiff_t offset, const int8_t *w,
                                           const struct tilewright_depthwise_beside_attributes *a,
                                           int32_t channels)
{
    const int32_t down = a->dilations[0];
    const int32_t pitch = down * x->shape->stride[HEIGHT];
    const int32_t across = a->dilations[1] * x->shape->stride[WIDTH];
    const int32_t is_column = a->kernel[1] == 1;
    for (int32_t done = 0; done < a->kernel[0];) {
        const int32_t left = a->kernel[0] - done;
        const int32_t first = row + done * down;
        const int32_t held = tilewright_rows_in_line(x, HEIGHT, first, (left - 1) * down + 1);
        const int32_t rows = (held - 1) / down + 1;
        const struct taps taps = {is_column != 0 ? rows : a->kernel[1],
                                  is_column != 0 ? pitch : across, is_column != 0 ? 1 : rows,
                                  pitch};
        const uint8_t *const line = tilewright_row(x, HEIGHT, first) + offset;
        w = channels == 1 ? add_one(sums, line, w, &taps) : add_four(sums, line, w, &taps);
        done += rows;
    }
    return w;
}

/* Computes all channels of one output position. */
static void pixel(struct tilewright_sink *sink, const struct tilewright_view *operands, int32_t row,
                  ptrdiff_t offset, const struct tilewright_depthwise_beside_attributes *a)
{
    const struct tilewright_rule *const rule = a->rule;
    const int32_t words = rule->row_words;
    const int32_t *rows = (const int32_t *)(const void *)operands[ROWS].base;
    const int8_t *w = (const int8_t *)operands[WEIGHTS].base;
    int32_t *const sums = sink->block;
    int32_t channels = operands[Y].shape->extent[CHANNEL];

    for (; channels >= TILEWRIGHT_BLOCK; channels -= TILEWRIGHT_BLOCK) {
        for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
            sums[c] = rule->biased != 0 ? rows[c * words] : 0;
        }
        w = add_window(sums, &operands[X], row, offset, w, a, TILEWRIGHT_BLOCK);
        rule->finish(sink, sums, rows, TILEWRIGHT_BLOCK);
        rows += TILEWRIGHT_BLOCK * words;
        offset += TILEWRIGHT_BLOCK;
    }
    for (; channels > 0; channels--) {
        sums[0] = rule->biased != 0 ? rows[0] : 0;
        w = add_window(sums, &operands[X], row, offset, w, a, 1);
        rule->finish(sink, sums, rows, 1);
        rows += words;
        offset++;
    }
}

void tilewright_depthwise_beside(const struct tilewright_depthwise_beside_attributes *a,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_view *y = &operands[Y];
    const struct tilewright_shape *out = y->shape;
    struct tilewright_sink sink;

    tilewright_open(&sink, a->rule, out->stride[CHANNEL], 1, &operands[WEIGHTS], flags);
    sink.limits = TILEWRIGHT_LIMITS(a);
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        for (int32_t i = 0; i < out->extent[HEIGHT]; i++) {
            const int32_t row = (out->origin[HEIGHT] + i) * a->strides[0];
            uint8_t *at = tilewright_row(y, HEIGHT, out->origin[HEIGHT] + i);
            at += (ptrdiff_t)n * out->stride[BATCH];
            for (int32_t j = 0; j < out->extent[WIDTH]; j++) {
                const int32_t column = (out->origin[WIDTH] + j) * a->strides[1];
                sink.pixel[0] = at;
                pixel(&sink, operands, row,
                      (ptrdiff_t)n * in->stride[BATCH] +
                          (ptrdiff_t)(column - in->origin[WIDTH]) * in->stride[WIDTH],
                      a);
                at += out->stride[WIDTH];
            }
        }
    }
}
