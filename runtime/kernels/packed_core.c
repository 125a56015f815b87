/* SPDX-License-Identifier: Apache-2.0 */
/* The core of packed convolutions: one 32-bit multiplication gives the products of two pixels. */
#include "tilewright/kernels/integer_rules.h"
#include "tilewright/kernels/packed.h"

/* Channels whose sums are in registers at a time, of a block of four. */
#if defined(__arm__)
enum { LANES = 2 };
#else
enum { LANES = TILEWRIGHT_BLOCK };
#endif

/* A word holds pixel a in its low half and pixel b in its high half: a + b * 2^16. In a run of taps
 * whose weights' magnitudes add up to at most 255, the sum of a fits 16 bits: added to 2^15 it does
 * not reach into the high half, which is then the sum of b. The sum of a is computed once, at the
 * end: it is the total of all words minus the sum of b times 2^16. */
TILEWRIGHT_INLINE void add_run(uint32_t *total, int32_t *high, const uint32_t *restrict x,
                               const int8_t *restrict w, const int32_t run)
{
    uint32_t sum[LANES];
    /* With the constant in a register, the first product is a multiplication that adds. */
    uint32_t half = 0x8000u;
    TILEWRIGHT_HIDE(half);
    TILEWRIGHT_UNROLL_4
    for (int32_t c = 0; c < LANES; c++) {
        sum[c] = half;
    }
    TILEWRIGHT_UNROLL_16
    for (int32_t tap = 0; tap < run; tap++) {
        const uint32_t pair = x[tap];
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < LANES; c++) {
            const uint32_t weight = (uint32_t)w[TILEWRIGHT_BLOCK * tap + c];
            sum[c] = sum[c] + pair * weight;
        }
    }
    TILEWRIGHT_UNROLL_4
    for (int32_t c = 0; c < LANES; c++) {
        total[c] += sum[c];
        high[c] += (int32_t)sum[c] >> 16;
    }
}

/* The taps of a round of the loop: the digits' sum, and the runs of a round: their number. */
TILEWRIGHT_INLINE int32_t taps_of(const int32_t runs)
{
    return runs == 16 ? 16 : runs % 10 + runs / 10 % 10 + runs / 100 % 10 + runs / 1000;
}

TILEWRIGHT_INLINE int32_t count_of(const int32_t runs)
{
    return runs == 16 ? 1 : 1 + (runs > 9) + (runs > 99) + (runs > 999);
}

/* Adds the taps of one round of the loop; the decimal digits of `runs` are the lengths of its runs,
 * 16 is one run. Taps behind the last round are runs of one. */
TILEWRIGHT_INLINE void add_runs(uint32_t *total, int32_t *high, const uint32_t *restrict x,
                                const int8_t *restrict w, const int32_t runs)
{
    if (runs == 16) {
        add_run(total, high, x, w, 16);
        return;
    }
    int32_t at = 0;
    TILEWRIGHT_UNROLL_16
    for (int32_t scale = 1000; scale > 0; scale /= 10) {
        const int32_t run = runs / scale % 10;
        if (run != 0) {
            add_run(total, high, x + at, w + TILEWRIGHT_BLOCK * at, run);
            at += run;
        }
    }
}

/* Adds whole rounds of taps. Returns the address behind their weights. */
TILEWRIGHT_INLINE const int8_t *add_rounds(uint32_t *total, int32_t *high, const uint32_t **at,
                                           const int8_t *restrict w, const int8_t *end,
                                           const int32_t runs, const int32_t round)
{
    const uint32_t *restrict x = *at;
    do {
        add_runs(total, high, x, w, runs);
        x += round;
        w += TILEWRIGHT_BLOCK * round;
    } while (w != end);
    *at = x;
    return w;
}

/* If `longer` is not 0, it gives the runs of the last channels, whose number is the sink's
 * `longer`; behind the weights of a block then stand the numbers of the block's channels in y. */
TILEWRIGHT_INLINE void core(struct tilewright_sink *sink, const uint8_t *columns, int32_t taps,
                            const uint8_t *weights, const int32_t *restrict rows, int32_t channels,
                            tilewright_block_finish *finish, const int32_t runs,
                            const int32_t longer, const int32_t words,
                            const enum tilewright_rule_kind rule)
{
    const uint32_t *restrict const pairs = (const uint32_t *)(const void *)columns;
    const int8_t *restrict w = (const int8_t *)weights;
    const ptrdiff_t size = (ptrdiff_t)TILEWRIGHT_BLOCK * (longer != 0 ? taps + 1 : taps);
    const struct tilewright_limits limits = sink->limits;
    const ptrdiff_t stride = sink->channel_stride;
    const int32_t row_words = words != 0 ? words : sink->row_words;
    const int32_t is_biased = rule != TILEWRIGHT_RULE_FOLDED;
    uint8_t *restrict a = sink->pixel[0];
    uint8_t *restrict b = sink->pixel[1];
    int32_t half = 0; /* channels of the block that are done */
    int32_t rest = taps % taps_of(runs);
    uint32_t excess = (uint32_t)(taps / taps_of(runs) * count_of(runs) + rest) << 15;
    int32_t change = longer != 0 ? sink->longer : 0; /* channels from which runs are longer */

    for (;;) {
        uint32_t total[LANES];
        int32_t high[LANES];
        const uint32_t *x = pairs;
        int32_t is_longer = 0;
        if (longer != 0 && channels <= change) {
            rest = taps % taps_of(longer);
            excess = (uint32_t)(taps / taps_of(longer) * count_of(longer) + rest) << 15;
            is_longer = 1;
        }
        const int8_t *const end = w + (ptrdiff_t)TILEWRIGHT_BLOCK * (taps - rest);
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < LANES; c++) {
            const int32_t bias = is_biased != 0 ? rows[c * row_words] : 0;
            high[c] = bias;
            total[c] = (uint32_t)bias + ((uint32_t)bias << 16) - excess;
        }
        if (is_longer != 0) {
            w = add_rounds(total, high, &x, w, end, longer, taps_of(longer));
        } else {
            w = add_rounds(total, high, &x, w, end, runs, taps_of(runs));
        }
        for (int32_t tap = 0; tap < rest; tap++) {
            add_run(total, high, x + tap, w, 1);
            w += TILEWRIGHT_BLOCK;
        }
        if (words == 0) {
            int32_t *const sums = sink->block;
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < LANES; c++) {
                sums[c] = (int32_t)(total[c] - ((uint32_t)high[c] << 16));
                sums[LANES + c] = high[c];
            }
            const int32_t count = tilewright_smaller(channels, LANES);
            sink->pixel[0] = a;
            finish(sink, sums, rows, count);
            a = sink->pixel[0];
            sink->pixel[0] = b;
            finish(sink, sums + LANES, rows, count);
            b = sink->pixel[0];
            rows += count * row_words;
            channels -= count;
            if (channels == 0) {
                return;
            }
        } else {
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < LANES; c++) {
                const struct tilewright_constants constants =
                    tilewright_constants_of(rows, &limits, rule);
                const int32_t low = (int32_t)(total[c] - ((uint32_t)high[c] << 16));
                const ptrdiff_t at = longer != 0 ? (uint8_t)w[c] * stride : 0;
                tilewright_store_sum(a + at, low, constants, &limits, rule);
                tilewright_store_sum(b + at, high[c], constants, &limits, rule);
                if (longer == 0) {
                    a += stride;
                    b += stride;
                }
                rows += row_words;
                if (--channels == 0) {
                    return;
                }
            }
        }
        if (longer != 0) {
            w += TILEWRIGHT_BLOCK;
        }
        if (LANES < TILEWRIGHT_BLOCK) {
            half ^= LANES;
            w = half != 0 ? w - size + LANES : w - LANES;
        }
    }
}

#define TILEWRIGHT_DEFINE_CORE(name, suffix, runs, longer, words, rule)                            \
    void tilewright_packed_##name##_##suffix(struct tilewright_sink *sink, const uint8_t *columns, \
                                             int32_t taps, const uint8_t *weights,                 \
                                             const int32_t *rows, int32_t channels,                \
                                             tilewright_block_finish *finish)                      \
    {                                                                                              \
        core(sink, columns, taps, weights, rows, channels, finish, runs, longer, words, rule);     \
    }

#define TILEWRIGHT_DEFINE_CORES(suffix, runs, longer)                                              \
    TILEWRIGHT_DEFINE_CORE(folded, suffix, runs, longer, TILEWRIGHT_WORDS_FOLDED,                  \
                           TILEWRIGHT_RULE_FOLDED)                                                 \
    TILEWRIGHT_DEFINE_CORE(layer, suffix, runs, longer, TILEWRIGHT_WORDS_LAYER,                    \
                           TILEWRIGHT_RULE_LAYER)                                                  \
    TILEWRIGHT_DEFINE_CORE(high, suffix, runs, longer, TILEWRIGHT_WORDS_HIGH, TILEWRIGHT_RULE_HIGH)

#define TILEWRIGHT_DEFINE_ALL_CORES(runs)                                                          \
    TILEWRIGHT_DEFINE_CORES(runs, runs, 0)                                                         \
    TILEWRIGHT_DEFINE_CORE(any, runs, runs, 0, 0, TILEWRIGHT_RULE_NONE)

TILEWRIGHT_DEFINE_ALL_CORES(2222)
TILEWRIGHT_DEFINE_ALL_CORES(44)
TILEWRIGHT_DEFINE_ALL_CORES(8)
TILEWRIGHT_DEFINE_ALL_CORES(16)
TILEWRIGHT_DEFINE_CORES(2222_333, 2222, 333)
