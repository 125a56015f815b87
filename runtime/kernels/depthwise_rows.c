/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };
enum {
    SIDE = 3,
    TAPS = SIDE * SIDE,
    MOST = TILEWRIGHT_BLOCK + 1,
    MOST_COLUMNS = 2 * (MOST - 1) + SIDE
};

#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL_11 _Pragma("GCC unroll 11")
#else
#define UNROLL_11
#endif

/* The elements of channel 0 of x that the windows of some pixels side by side need; rows and
 * columns of padding point to a pixel of padding. */
struct cells {
    const uint8_t *at[SIDE][MOST_COLUMNS];
};

/* Sums of channels `channel` and `channel` + 1: of four pixels as [channel][pixel], of a fifth one
 * apart. The windows of pixels are `step` columns apart. Each element of x is loaded once for all
 * pixels, each weight once for all of them. */
TILEWRIGHT_INLINE void pair(const struct cells *cells, int32_t channel, const int8_t *w,
                            const int32_t *bias, int32_t *sums, int32_t *fifth,
                            const int32_t pixels, const int32_t step)
{
    int32_t a[MOST], b[MOST];
    UNROLL_11
    for (int32_t p = 0; p < pixels; p++) {
        a[p] = bias[0];
        b[p] = bias[1];
    }
    for (int32_t i = 0; i < SIDE; i++) {
        const int32_t a_weights[SIDE] = {w[0], w[1], w[2]};
        const int32_t b_weights[SIDE] = {w[TAPS], w[TAPS + 1], w[TAPS + 2]};
        w += SIDE;
        UNROLL_11
        for (int32_t j = 0; j < (pixels - 1) * step + SIDE; j++) {
            const int8_t *const x = (const int8_t *)cells->at[i][j] + channel;
            const int32_t xa = x[0], xb = x[1];
            UNROLL_11
            for (int32_t k = 0; k < SIDE; k++) {
                const int32_t p = (j - k) / step;
                if (j >= k && (j - k) % step == 0 && p < pixels) {
                    a[p] += xa * a_weights[k];
                    b[p] += xb * b_weights[k];
                }
            }
        }
    }
    UNROLL_11
    for (int32_t p = 0; p < TILEWRIGHT_BLOCK; p++) {
        sums[p] = a[p];
        sums[TILEWRIGHT_BLOCK + p] = b[p];
    }
    if (pixels > TILEWRIGHT_BLOCK) {
        fifth[0] = a[TILEWRIGHT_BLOCK];
        fifth[1] = b[TILEWRIGHT_BLOCK];
    }
}

/* All channels of four or five pixels side by side, of which a fifth one is `across` bytes behind
 * the fourth. */
TILEWRIGHT_INLINE void channels(struct tilewright_sink *sink, const struct cells *cells,
                                const struct tilewright_view *operands,
                                const struct tilewright_rule *rule, const int32_t pixels,
                                const int32_t step)
{
    const int32_t count = operands[Y].shape->extent[CHANNEL];
    const int32_t across = operands[Y].shape->stride[WIDTH];
    const int8_t *w = (const int8_t *)operands[WEIGHTS].base;
    const int32_t *rows = (const int32_t *)(const void *)operands[ROWS].base;
    const int32_t words = rule->row_words;

    for (int32_t c = 0; c < count; c += TILEWRIGHT_BLOCK) {
        int32_t fifth[TILEWRIGHT_BLOCK];
        const int32_t *row = rows;
        for (int32_t half = 0; half < TILEWRIGHT_BLOCK; half += 2) {
            const int32_t bias[2] = {rule->biased != 0 ? row[0] : 0,
                                     rule->biased != 0 ? row[words] : 0};
            pair(cells, c + half, w, bias, sink->block + half * TILEWRIGHT_BLOCK, fifth + half,
                 pixels, step);
            w += 2 * TAPS;
            row += 2 * words;
        }
        uint8_t *const first = sink->pixel[0];
        uint8_t *const last = sink->pixel[TILEWRIGHT_BLOCK - 1] + across;
        rule->finish(sink, sink->block, rows, TILEWRIGHT_BLOCK);
        if (pixels > TILEWRIGHT_BLOCK) {
            sink->pixels = 1;
            sink->pixel[0] = last;
            rule->finish(sink, fifth, rows, TILEWRIGHT_BLOCK);
            sink->pixels = TILEWRIGHT_BLOCK;
            sink->pixel[0] = first + TILEWRIGHT_BLOCK * sink->channel_stride;
        }
        rows = row;
    }
}

/* Sets the cells of the windows of `pixels` pixels from (oh, ow) on, and the places of the pixels.
 */
static void look(struct cells *cells, struct tilewright_sink *sink,
                 const struct tilewright_depthwise_rows_attributes *a,
                 const struct tilewright_view *operands, int32_t n, int32_t oh, int32_t ow,
                 int32_t pixels)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t top = oh * a->strides[0] - a->pads[0];
    const int32_t left = ow * a->strides[1] - a->pads[1] - in->origin[WIDTH];
    uint8_t *to = tilewright_row(&operands[Y], HEIGHT, oh) + (ptrdiff_t)n * out->stride[BATCH] +
                  (ptrdiff_t)(ow - out->origin[WIDTH]) * out->stride[WIDTH];

    for (int32_t i = 0; i < SIDE; i++) {
        const uint8_t *line = NULL;
        if ((uint32_t)(top + i - in->origin[HEIGHT]) < (uint32_t)in->extent[HEIGHT]) {
            line = tilewright_row(&operands[X], HEIGHT, top + i) + (ptrdiff_t)n * in->stride[BATCH];
        }
        for (int32_t j = 0; j < (pixels - 1) * a->strides[1] + SIDE; j++) {
            const int is_held = line != NULL && (uint32_t)(left + j) < (uint32_t)in->extent[WIDTH];
            cells->at[i][j] =
                is_held ? line + (ptrdiff_t)(left + j) * in->stride[WIDTH] : operands[SCRATCH].base;
        }
    }
    for (int32_t p = 0; p < TILEWRIGHT_BLOCK; p++) {
        sink->pixel[p] = to + (ptrdiff_t)p * out->stride[WIDTH];
    }
}

/* Row by row, four pixels at a time. The last one of a row is computed with the four before it; two
 * or three are computed with pixels before them, whose results come again. */
TILEWRIGHT_INLINE void run(const struct tilewright_depthwise_rows_attributes *a,
                           const struct tilewright_view *operands, const int32_t step)
{
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t width = out->extent[WIDTH];
    struct tilewright_sink sink;
    struct cells cells;

    tilewright_open(&sink, a->rule, out->stride[CHANNEL], TILEWRIGHT_BLOCK, NULL, TILEWRIGHT_WHOLE);
    sink.limits = TILEWRIGHT_LIMITS(a);
    for (int32_t c = 0; c < out->extent[CHANNEL]; c++) {
        operands[SCRATCH].base[c] = (uint8_t)a->padding;
    }
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        for (int32_t i = 0; i < out->extent[HEIGHT]; i++) {
            for (int32_t j = 0; j < width;) {
                const int32_t oh = out->origin[HEIGHT] + i;
                const int32_t pixels = width - j == MOST ? MOST : TILEWRIGHT_BLOCK;
                j = tilewright_smaller(j, width - pixels);
                look(&cells, &sink, a, operands, n, oh, out->origin[WIDTH] + j, pixels);
                if (pixels == MOST) {
                    channels(&sink, &cells, operands, a->rule, MOST, step);
                } else {
                    channels(&sink, &cells, operands, a->rule, TILEWRIGHT_BLOCK, step);
                }
                j += pixels;
            }
        }
    }
}

void tilewright_depthwise_rows(const struct tilewright_depthwise_rows_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, operands, 1);
}

void tilewright_depthwise_rows_strided(
    const struct tilewright_depthwise_rows_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, operands, 2);
}
