/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/integer_core.h"

/* Multiplies four pixels by four channels, with 16 sums in registers. The sums go to memory, so
 * that all finishes share this loop; that costs two instructions per output. */
TILEWRIGHT_INLINE void core(struct tilewright_sink *sink, const uint8_t *restrict columns,
                            int32_t taps, const uint8_t *restrict weights,
                            const int32_t *restrict rows, int32_t channels,
                            tilewright_block_finish *finish, const int32_t bytes)
{
    const int8_t *const end = (const int8_t *)columns + TILEWRIGHT_BLOCK * taps;
    const int32_t row_words = sink->row_words;

    for (; channels > 0; channels -= TILEWRIGHT_BLOCK) {
        int32_t sum[TILEWRIGHT_BLOCK_SUMS];
        tilewright_first_sums(sink, rows, sum);
        const int8_t *x = (const int8_t *)columns;
        do {
            const int32_t x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
                const int32_t w = tilewright_weight_at(weights, c, bytes);
                sum[TILEWRIGHT_BLOCK * c] += x0 * w;
                sum[TILEWRIGHT_BLOCK * c + 1] += x1 * w;
                sum[TILEWRIGHT_BLOCK * c + 2] += x2 * w;
                sum[TILEWRIGHT_BLOCK * c + 3] += x3 * w;
            }
            x += TILEWRIGHT_BLOCK;
            weights += TILEWRIGHT_BLOCK * bytes;
        } while (x != end);
        int32_t *const sums = sink->sums;
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK_SUMS; i += TILEWRIGHT_BLOCK) {
            TILEWRIGHT_UNROLL_4
            for (int32_t p = 0; p < TILEWRIGHT_BLOCK; p++) {
                sums[i + p] = sum[i + p];
            }
        }
        tilewright_next_block(sink);
        if (finish != NULL) {
            finish(sink, sums, rows, tilewright_smaller(channels, TILEWRIGHT_BLOCK));
        }
        rows += TILEWRIGHT_BLOCK * row_words;
    }
}

static TILEWRIGHT_NOINLINE void narrow(struct tilewright_sink *sink, const uint8_t *columns,
                                       int32_t taps, const uint8_t *weights, const int32_t *rows,
                                       int32_t channels, tilewright_block_finish *finish)
{
    core(sink, columns, taps, weights, rows, channels, finish, 1);
}

TILEWRIGHT_NOINLINE void tilewright_products_wide(struct tilewright_sink *sink,
                                                  const uint8_t *columns, int32_t taps,
                                                  const uint8_t *weights, const int32_t *rows,
                                                  int32_t channels, tilewright_block_finish *finish)
{
    core(sink, columns, taps, weights, rows, channels, finish, 2);
}

/* Multiplies one or two of four pixels by four channels at a time. */
TILEWRIGHT_INLINE void few(struct tilewright_sink *sink, const uint8_t *columns, int32_t taps,
                           const int8_t *restrict w, const int32_t *rows, int32_t channels,
                           tilewright_block_finish *finish, const int32_t pixels)
{
    const int8_t *const end = (const int8_t *)columns + TILEWRIGHT_BLOCK * taps;
    const int32_t words = sink->row_words;
    int32_t *const sums = sink->block;

    for (; channels > 0; channels -= TILEWRIGHT_BLOCK) {
        const int32_t *const start = sink->start == NULL ? rows : sink->start;
        const int32_t step = sink->start == NULL ? words : 1;
        int32_t first[TILEWRIGHT_BLOCK], second[TILEWRIGHT_BLOCK];
        const int8_t *restrict x = (const int8_t *)columns;
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
            first[c] = start[c * step];
            second[c] = first[c];
        }
        do {
            const int32_t x0 = x[0], x1 = x[1];
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
                first[c] += x0 * w[c];
                second[c] += pixels == 2 ? x1 * w[c] : 0;
            }
            x += TILEWRIGHT_BLOCK;
            w += TILEWRIGHT_BLOCK;
        } while (x != end);
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
            sums[c] = first[c];
            sums[TILEWRIGHT_BLOCK + c] = second[c];
        }
        const int32_t count = tilewright_smaller(channels, TILEWRIGHT_BLOCK);
        finish(sink, sums, rows, count);
        if (pixels == 2) {
            uint8_t *const next = sink->pixel[0];
            sink->pixel[0] = sink->pixel[1];
            finish(sink, sums + TILEWRIGHT_BLOCK, rows, count);
            sink->pixel[1] = sink->pixel[0];
            sink->pixel[0] = next;
        }
        rows += TILEWRIGHT_BLOCK * words;
    }
}

/* The first one or two of four pixels, as many as the sink has: all four would take longer. The
 * reduction is whole. */
static TILEWRIGHT_NOINLINE void few_narrow(struct tilewright_sink *sink, const uint8_t *columns,
                                           int32_t taps, const uint8_t *weights,
                                           const int32_t *rows, int32_t channels,
                                           tilewright_block_finish *finish)
{
    const int32_t pixels = sink->pixels;
    sink->pixels = 1;
    if (pixels == 1) {
        few(sink, columns, taps, (const int8_t *)weights, rows, channels, finish, 1);
    } else {
        few(sink, columns, taps, (const int8_t *)weights, rows, channels, finish, 2);
    }
}

const struct tilewright_core tilewright_core_narrow = {narrow, NULL, 1};
const struct tilewright_core tilewright_core_few = {narrow, few_narrow, 1};
const struct tilewright_core tilewright_core_wide = {tilewright_products_wide, NULL, 2};

TILEWRIGHT_NOINLINE uint8_t *tilewright_interleave(uint8_t *restrict out,
                                                   const uint8_t *const *runs, int32_t count,
                                                   int32_t stride)
{
    const uint8_t *restrict a = runs[0];
    const uint8_t *restrict b = runs[1];
    const uint8_t *restrict c = runs[2];
    const uint8_t *restrict d = runs[3];

    if (stride == 1) {
        for (; count >= 4; count -= 4) {
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < 4; i++) {
                out[4 * i] = a[i];
                out[4 * i + 1] = b[i];
                out[4 * i + 2] = c[i];
                out[4 * i + 3] = d[i];
            }
            a += 4;
            b += 4;
            c += 4;
            d += 4;
            out += 16;
        }
    }
    for (; count > 0; count--) {
        out[0] = *a;
        out[1] = *b;
        out[2] = *c;
        out[3] = *d;
        a += stride;
        b += stride;
        c += stride;
        d += stride;
        out += 4;
    }
    return out;
}

void tilewright_flip(uint8_t *bytes, int32_t count)
{
    tilewright_word *words = (tilewright_word *)(void *)bytes;
    for (; count > 0; count -= 4) {
        *words++ ^= 0x80808080u;
    }
}
