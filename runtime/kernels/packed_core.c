/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of packed convolutions: one 32-bit multiplication gives the products of two pixels. */
#include "tilewright/kernels/dsp_rules.h"
#include "tilewright/kernels/packed.h"

enum {
    COLUMNS = TILEWRIGHT_PACKED_COLUMNS,
    HEAD = TILEWRIGHT_PACKED_HEAD,
    MOST_WORDS = TILEWRIGHT_PACKED_MOST / 2
};

/* Channels of a block whose sums are in registers at a time. */
#if defined(__arm__)
enum { LANES = 1 };
#else
enum { LANES = COLUMNS };
#endif

/* The lengths of the runs in one round of each of a core's three loops, as digits; 16 is one run.
 */
struct rounds {
    int32_t first, second, third;
};

static const struct rounds of_to4 = {2, 33, 44}, of_to16 = {4, 8, 16};

/* Loads the words of a tap. */
TILEWRIGHT_INLINE void load_words(uint32_t *pair, const uint32_t *x, const int32_t words)
{
#if defined(__thumb2__) && defined(__GNUC__)
    if (words == 1) {
        pair[0] = x[0];
        return;
    }
    __asm__("ldrd %0, %1, %2"
            : "=r"(pair[0]), "=r"(pair[1])
            : "m"(*(const tilewright_double_word *)(const void *)x));
    if (words > 2) {
        pair[2] = x[2];
    }
#else
    TILEWRIGHT_UNROLL_4
    for (int32_t p = 0; p < words; p++) {
        pair[p] = x[p];
    }
#endif
}

/* A word holds pixel a in its low half and pixel b in its high half: a + b * 2^16. In a run of taps
 * whose weights' magnitudes add up to at most 255, the sum of a fits 16 bits: added to 2^15 it does
 * not reach into the high half, which is then the sum of b. The sum of a is computed once, at the
 * end: it is the total of all words minus the sum of b times 2^16. */
TILEWRIGHT_INLINE void add_run(uint32_t *total, int32_t *high, const uint32_t *restrict x,
                               const int8_t *restrict w, const int32_t run, const int32_t words)
{
    uint32_t sum[LANES * MOST_WORDS];
    /* With the constant in a register, the first product is a multiplication that adds. */
    uint32_t half = 0x8000u;
    TILEWRIGHT_HIDE(half);
    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < LANES * words; i++) {
        sum[i] = half;
    }
    TILEWRIGHT_UNROLL_16
    for (int32_t tap = 0; tap < run; tap++) {
        uint32_t weight[LANES], pair[MOST_WORDS];
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < LANES; c++) {
            weight[c] = (uint32_t)w[COLUMNS * tap + c];
        }
        load_words(pair, x + words * tap, words);
        TILEWRIGHT_UNROLL_4
        for (int32_t p = 0; p < words; p++) {
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < LANES; c++) {
                sum[LANES * p + c] += pair[p] * weight[c];
            }
        }
    }
    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < LANES * words; i++) {
        total[i] += sum[i];
        high[i] += (int32_t)sum[i] >> 16;
    }
}

/* The length of a round's runs, and their number. */
TILEWRIGHT_INLINE int32_t length_of(const int32_t round)
{
    return round == 16 ? 16 : round % 10;
}

TILEWRIGHT_INLINE int32_t count_of(const int32_t round)
{
    return round > 16 ? 2 : 1;
}

TILEWRIGHT_INLINE int32_t taps_of(const int32_t round)
{
    return length_of(round) * count_of(round);
}

/* Adds whole rounds of taps, up to the weights at `end`. Returns the words behind them. */
TILEWRIGHT_INLINE const uint32_t *add_rounds(uint32_t *total, int32_t *high,
                                             const uint32_t *restrict x, const int8_t *restrict w,
                                             const int8_t *end, const int32_t round,
                                             const int32_t words)
{
    const int32_t run = length_of(round), count = count_of(round);
    if (w != end) {
        do {
            TILEWRIGHT_UNROLL_4
            for (int32_t k = 0; k < count; k++) {
                add_run(total, high, x + words * run * k, w + COLUMNS * run * k, run, words);
            }
            x += words * run * count;
            w += COLUMNS * run * count;
        } while (w != end);
    }
    return x;
}

/* How often a block's loop goes round. It is read where it is needed, each time: loops need the
 * registers for sums. */
TILEWRIGHT_INLINE int32_t rounds_of(const struct tilewright_packed *job, const uint8_t *block,
                                    const int32_t loop)
{
    const volatile uint8_t *const rounds = block + COLUMNS;
    return rounds[loop] * *(const volatile int32_t *)&job->unit;
}

/* The runs of a block's loops. */
TILEWRIGHT_INLINE int32_t runs_of(const struct tilewright_packed *job, const uint8_t *block,
                                  const struct rounds rounds)
{
    const volatile uint8_t *const counts = block + COLUMNS;
    return (counts[0] * count_of(rounds.first) + counts[1] * count_of(rounds.second) +
            counts[2] * count_of(rounds.third)) *
           *(const volatile int32_t *)&job->unit;
}

/* The bytes of a block, read as the rounds are. */
TILEWRIGHT_INLINE int32_t bytes_of(const struct tilewright_packed *job)
{
    return *(const volatile int32_t *)&job->block_bytes;
}

/* Sums of a block's channels from `lane` on, which are LANES: those of the low halves' pixels in
 * `low`. */
TILEWRIGHT_INLINE void add_taps(const struct tilewright_packed *job, const uint8_t *block,
                                int32_t lane, const int32_t *bias, int32_t *low, int32_t *high,
                                const int32_t words, const struct rounds rounds)
{
    uint32_t total[LANES * MOST_WORDS];
    const uint32_t *x = job->words;
    const int8_t *w = (const int8_t *)block + HEAD + lane;

    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < LANES * words; i++) {
        high[i] = bias[i % LANES];
        total[i] = (uint32_t)high[i] + ((uint32_t)high[i] << 16);
    }
    const int8_t *end = w + COLUMNS * taps_of(rounds.first) * rounds_of(job, block, 0);
    x = add_rounds(total, high, x, w, end, rounds.first, words);
    w = end;
    end += COLUMNS * taps_of(rounds.second) * rounds_of(job, block, 1);
    x = add_rounds(total, high, x, w, end, rounds.second, words);
    w = end;
    end += COLUMNS * taps_of(rounds.third) * rounds_of(job, block, 2);
    x = add_rounds(total, high, x, w, end, rounds.third, words);
    w = end;
    end = (const int8_t *)block + bytes_of(job) + lane;
    (void)add_rounds(total, high, x, w, end, 1, words);
    const uint32_t excess = ((uint32_t)runs_of(job, block, rounds) + (uint32_t)(end - w) / COLUMNS)
                            << 15;
    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < LANES * words; i++) {
        low[i] = (int32_t)(total[i] - excess - ((uint32_t)high[i] << 16));
    }
}

/* Stores the elements of LANES channels of all pixels; the channels are `to` bytes from those of
 * the job's pixels. */
TILEWRIGHT_INLINE void store(const struct tilewright_packed *job, const ptrdiff_t *to,
                             const int32_t *low, const int32_t *high,
                             const struct tilewright_constants *constants,
                             const struct tilewright_limits *limits, const int32_t words,
                             const enum tilewright_rule_kind rule,
                             const enum tilewright_dsp_limits known)
{
    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < 2 * words; i++) {
        const int32_t *const sums = i % 2 == 0 ? low : high;
#if defined(__arm__)
        /* The address is loaded behind the last use of what else needs registers. */
        uint8_t element = 0;
        tilewright_dsp_store(&element, sums[i / 2], constants[0], limits, rule, known);
        job->pixel[i][to[0]] = element;
#else
        uint8_t *const pixel = job->pixel[i];
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < LANES; c++) {
            tilewright_dsp_store(pixel + to[c], sums[LANES * (i / 2) + c], constants[c], limits,
                                 rule, known);
        }
#endif
    }
}

/* Blocks of two channels. A block begins with how far its channels are in y from where they would
 * be in order, and with the units of rounds of each loop; taps behind them are runs of one. */
TILEWRIGHT_INLINE void core(const struct tilewright_packed *job, const int32_t words,
                            const struct rounds rounds, const int32_t row_words,
                            const enum tilewright_rule_kind rule)
{
    const uint8_t *restrict block = job->weights;
    const int32_t *restrict rows = job->rows;
    const int32_t is_biased = rule != TILEWRIGHT_RULE_FOLDED;
    int32_t first = 0; /* position of the block's first channel, in order */
#if defined(__ARM_FEATURE_SAT)
    const enum tilewright_dsp_limits known =
        rule == TILEWRIGHT_RULE_AWAY || rule == TILEWRIGHT_RULE_TWICE
            ? TILEWRIGHT_DSP_ANY
            : tilewright_dsp_limits_of(&job->limits);
#endif

    do {
        for (int32_t lane = 0; lane < COLUMNS; lane += LANES) {
            int32_t bias[LANES], low[LANES * MOST_WORDS], high[LANES * MOST_WORDS];
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < LANES; c++) {
                bias[c] = is_biased != 0 ? rows[(lane + c) * row_words] : 0;
            }
            add_taps(job, block, lane, bias, low, high, words, rounds);
            const struct tilewright_limits limits = job->limits;
            struct tilewright_constants constants[LANES];
            ptrdiff_t to[LANES];
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < LANES; c++) {
                const int32_t channel = first + lane + c + ((const int8_t *)block)[lane + c];
                to[c] = (ptrdiff_t)channel * job->channel_stride;
                constants[c] =
                    tilewright_constants_of(rows + (lane + c) * row_words, &limits, rule);
            }
#if defined(__ARM_FEATURE_SAT)
            if (known == TILEWRIGHT_DSP_SIGNED) {
                store(job, to, low, high, constants, &limits, words, rule, TILEWRIGHT_DSP_SIGNED);
                continue;
            }
            if (known == TILEWRIGHT_DSP_UNSIGNED) {
                store(job, to, low, high, constants, &limits, words, rule, TILEWRIGHT_DSP_UNSIGNED);
                continue;
            }
#endif
            store(job, to, low, high, constants, &limits, words, rule, TILEWRIGHT_DSP_ANY);
        }
        block += bytes_of(job);
        rows += COLUMNS * row_words;
        first += COLUMNS;
    } while (first < job->channels);
}

/* As core, of four pixels, whose sums a function finishes. */
TILEWRIGHT_INLINE void called(const struct tilewright_packed *job, const struct rounds rounds)
{
    enum { WORDS = TILEWRIGHT_BLOCK / 2 };
    const uint8_t *block = job->weights;
    const int32_t *rows = job->rows;
    struct tilewright_sink sink;

    sink.channel_stride = job->channel_stride;
    sink.pixels = TILEWRIGHT_BLOCK;
    sink.row_words = job->row_words;
    sink.limits = job->limits;
    for (int32_t first = 0; first < job->channels; first += COLUMNS) {
        for (int32_t lane = 0; lane < COLUMNS; lane += LANES) {
            int32_t bias[LANES], low[LANES * MOST_WORDS], high[LANES * MOST_WORDS];
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < LANES; c++) {
                bias[c] = rows[c * job->row_words];
            }
            add_taps(job, block, lane, bias, low, high, WORDS, rounds);
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < LANES; c++) {
                TILEWRIGHT_UNROLL_4
                for (int32_t p = 0; p < WORDS; p++) {
                    sink.block[TILEWRIGHT_BLOCK * c + 2 * p] = low[LANES * p + c];
                    sink.block[TILEWRIGHT_BLOCK * c + 2 * p + 1] = high[LANES * p + c];
                }
            }
            for (int32_t c = 0; c < LANES; c++) {
                const int32_t channel = first + lane + c + ((const int8_t *)block)[lane + c];
                const ptrdiff_t to = (ptrdiff_t)channel * job->channel_stride;
                for (int32_t p = 0; p < TILEWRIGHT_BLOCK; p++) {
                    sink.pixel[p] = job->pixel[p] + to;
                }
                job->finish(&sink, sink.block + TILEWRIGHT_BLOCK * c, rows, 1);
                rows += job->row_words;
            }
        }
        block += bytes_of(job);
    }
}

#define TILEWRIGHT_DEFINE_CORE(name, suffix, pixels, words, rule)                                  \
    void tilewright_packed_##name##_##pixels##_##suffix(const struct tilewright_packed *job)       \
    {                                                                                              \
        core(job, pixels / 2, of_##suffix, words, rule);                                           \
    }

#define TILEWRIGHT_DEFINE_CORES(suffix, pixels)                                                    \
    TILEWRIGHT_DEFINE_CORE(folded, suffix, pixels, TILEWRIGHT_WORDS_FOLDED,                        \
                           TILEWRIGHT_RULE_FOLDED)                                                 \
    TILEWRIGHT_DEFINE_CORE(layer, suffix, pixels, TILEWRIGHT_WORDS_LAYER, TILEWRIGHT_RULE_LAYER)   \
    TILEWRIGHT_DEFINE_CORE(high, suffix, pixels, TILEWRIGHT_WORDS_HIGH, TILEWRIGHT_RULE_HIGH)      \
    TILEWRIGHT_DEFINE_CORE(away, suffix, pixels, TILEWRIGHT_WORDS_AWAY, TILEWRIGHT_RULE_AWAY)      \
    TILEWRIGHT_DEFINE_CORE(twice, suffix, pixels, TILEWRIGHT_WORDS_TWICE, TILEWRIGHT_RULE_TWICE)

#define TILEWRIGHT_DEFINE_ALL_CORES(suffix)                                                        \
    TILEWRIGHT_DEFINE_CORES(suffix, 2)                                                             \
    TILEWRIGHT_DEFINE_CORES(suffix, 4)                                                             \
    TILEWRIGHT_DEFINE_CORES(suffix, 6)                                                             \
    void tilewright_packed_any_4_##suffix(const struct tilewright_packed *job)                     \
    {                                                                                              \
        called(job, of_##suffix);                                                                  \
    }

TILEWRIGHT_DEFINE_ALL_CORES(to4)
TILEWRIGHT_DEFINE_ALL_CORES(to16)
