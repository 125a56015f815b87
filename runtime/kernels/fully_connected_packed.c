/* SPDX-License-Identifier: Apache-2.0 */
/* Products of 8-bit vectors with a constant matrix, two channels with each 32-bit multiplication.
 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_rules.h"

enum { X, WEIGHTS, ROWS, RUNS, Y };
enum { ROW, COLUMN };
enum {
    CHANNELS = 2 * TILEWRIGHT_BLOCK, /* of a block, as weights are packed */
    QUADS = CHANNELS / 4,            /* words of a tap's weights */
    PAIRS = CHANNELS / 2
};

#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL_8 _Pragma("GCC unroll 8")
#else
#define UNROLL_8
#endif

/* A word holds the weights of four channels, w0 to w3, each with 128 added. It is multiplied in two
 * forms: masked, as w0 + w2 * 2^16, and shifted, as w1 + w2 * 2^8 + w3 * 2^16. What 128 adds to the
 * sums of a run is a multiple of the sum of the run's elements. `all` is that sum. */
TILEWRIGHT_INLINE void add_tap(uint32_t *sum, uint32_t *all, const uint8_t *x, const uint32_t *w,
                               const int32_t is_unsigned)
{
    const uint32_t element = is_unsigned != 0 ? *x : (uint32_t)(int8_t)*x;
    *all += element;
    TILEWRIGHT_UNROLL_4
    for (int32_t quad = 0; quad < QUADS; quad++) {
        const uint32_t weights = w[quad];
        sum[2 * quad] += element * (weights & 0x00ff00ffu);
        sum[2 * quad + 1] += element * (weights >> 8);
    }
}

/* Adds the sums of a run to those of its lanes. A low lane's sum fits 16 bits: with 2^15 added it
 * does not reach into the high half, which is then the high lane's sum. Sums of low lanes are
 * computed at the end, from the totals of all runs. */
TILEWRIGHT_INLINE void add_run(uint32_t *total, int32_t *high, const uint32_t *sum, uint32_t all)
{
    const uint32_t excess = (all << 7) + (all << 23);
    TILEWRIGHT_UNROLL_4
    for (int32_t quad = 0; quad < QUADS; quad++) {
        const uint32_t masked = sum[2 * quad] - excess;
        const int32_t middle = (int32_t)masked >> 16;
        const uint32_t shifted =
            sum[2 * quad + 1] - (excess + (all << 15)) - ((uint32_t)middle << 8);
        total[2 * quad] += masked;
        high[2 * quad] += middle;
        total[2 * quad + 1] += shifted;
        high[2 * quad + 1] += (int32_t)shifted >> 16;
    }
}

/* Computes a block of up to eight channels. Returns the next block's weights. `words` is the length
 * of a row of the rule; 0: sums go to the sink's block, and the caller finishes them. A function of
 * its own has all registers for its sums. */
TILEWRIGHT_INLINE const uint32_t *block(struct tilewright_sink *sink, const uint8_t *restrict x,
                                        int32_t stride, const uint32_t *restrict w,
                                        const uint8_t *restrict run, const int32_t *restrict rows,
                                        int32_t channels, const int32_t is_unsigned,
                                        const int32_t words, const enum tilewright_rule_kind rule)
{
    const uint8_t *const first_run = run;
    const int32_t many = stride == 1 ? 4 : INT32_MAX; /* from as many taps on four are one step */
    uint32_t total[PAIRS] = {0};
    int32_t high[PAIRS] = {0};

    for (int32_t count = *run; count != 0; count = *++run) {
        uint32_t sum[PAIRS] = {0x8000u, 0x8000u, 0x8000u, 0x8000u};
        uint32_t all = 0;
        const uint32_t *const end = w + QUADS * count;
        if (count >= many) {
            do {
                add_tap(sum, &all, x, w, is_unsigned);
                add_tap(sum, &all, x + 1, w + QUADS, is_unsigned);
                add_tap(sum, &all, x + 2, w + 2 * QUADS, is_unsigned);
                add_tap(sum, &all, x + 3, w + 3 * QUADS, is_unsigned);
                x += 4;
                w += 4 * QUADS;
            } while (w != end);
        } else {
            do {
                add_tap(sum, &all, x, w, is_unsigned);
                x += stride;
                w += QUADS;
            } while (w != end);
        }
        add_run(total, high, sum, all);
    }

    const uint32_t excess = (uint32_t)(run - first_run) << 15;
    const struct tilewright_limits limits = sink->limits;
    const int32_t row_words = words != 0 ? words : sink->row_words;
    const int32_t is_biased = rule != TILEWRIGHT_RULE_FOLDED;
    const ptrdiff_t step = sink->channel_stride;
    uint8_t *restrict out = sink->pixel[0];
    UNROLL_8
    for (int32_t c = 0; c < CHANNELS; c++) {
        const int32_t p = 2 * (c / 4) + c % 2;
        const uint32_t low = total[p] - ((uint32_t)high[p] << 16) - excess;
        int32_t value = c % 4 < 2 ? (int32_t)low : high[p];
        if (is_biased != 0) {
            value += rows[0];
        }
        if (words != 0) {
            tilewright_store_sum(out, value, tilewright_constants_of(rows, &limits, rule), &limits,
                                 rule);
            out += step;
        } else {
            sink->block[c] = value;
        }
        rows += row_words;
        if (--channels == 0) {
            break;
        }
    }
    sink->pixel[0] = out;
    return w;
}

#define DEFINE_BLOCK(name, words, rule)                                                            \
    const uint32_t *tilewright_packed_block_signed_##name(                                         \
        struct tilewright_sink *sink, const uint8_t *x, int32_t stride, const uint32_t *w,         \
        const uint8_t *run, const int32_t *rows, int32_t channels)                                 \
    {                                                                                              \
        return block(sink, x, stride, w, run, rows, channels, 0, words, rule);                     \
    }                                                                                              \
    const uint32_t *tilewright_packed_block_unsigned_##name(                                       \
        struct tilewright_sink *sink, const uint8_t *x, int32_t stride, const uint32_t *w,         \
        const uint8_t *run, const int32_t *rows, int32_t channels)                                 \
    {                                                                                              \
        return block(sink, x, stride, w, run, rows, channels, 1, words, rule);                     \
    }

DEFINE_BLOCK(folded, TILEWRIGHT_WORDS_FOLDED, TILEWRIGHT_RULE_FOLDED)
DEFINE_BLOCK(layer, TILEWRIGHT_WORDS_LAYER, TILEWRIGHT_RULE_LAYER)
DEFINE_BLOCK(high, TILEWRIGHT_WORDS_HIGH, TILEWRIGHT_RULE_HIGH)
DEFINE_BLOCK(away, TILEWRIGHT_WORDS_AWAY, TILEWRIGHT_RULE_AWAY)
DEFINE_BLOCK(twice, TILEWRIGHT_WORDS_TWICE, TILEWRIGHT_RULE_TWICE)
DEFINE_BLOCK(any, 0, TILEWRIGHT_RULE_NONE)

void tilewright_fully_connected_packed(const struct tilewright_fully_connected_packed_attributes *a,
                                       const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_view *x = &operands[X];
    const struct tilewright_view *y = &operands[Y];
    struct tilewright_sink sink;

    (void)flags;
    sink.channel_stride = y->shape->stride[COLUMN];
    sink.pixels = 1;
    sink.row_words = a->row_words;
    sink.limits = TILEWRIGHT_LIMITS(a);
    for (int32_t i = 0; i < y->shape->extent[ROW]; i++) {
        const uint8_t *const vector = tilewright_row(x, ROW, x->shape->origin[ROW] + i);
        const uint32_t *w = (const uint32_t *)(const void *)operands[WEIGHTS].base;
        const int32_t *row = (const int32_t *)(const void *)operands[ROWS].base;
        const uint8_t *run = operands[RUNS].base;
        sink.pixel[0] = tilewright_row(y, ROW, y->shape->origin[ROW] + i);
        for (int32_t left = y->shape->extent[COLUMN]; left > 0; left -= CHANNELS) {
            const int32_t count = tilewright_smaller(left, CHANNELS);
            w = a->products(&sink, vector, x->shape->stride[COLUMN], w, run, row, count);
            if (a->finish != NULL) {
                a->finish(&sink, sink.block, row, count);
            }
            row += CHANNELS * a->row_words;
            run += a->run_bytes;
        }
    }
}
