/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of packed convolutions: one 32-bit multiplication gives the products of two pixels.
 * Each rule has its cores in a file of its own, so that a firmware compiles those that it needs.
 * Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_PACKED_CORE_H
#define TILEWRIGHT_KERNELS_PACKED_CORE_H

#include "tilewright/kernels/dsp_rules.h"
#include "tilewright/kernels/packed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Words of a tap at most. */
enum { TILEWRIGHT_PACKED_WORDS = TILEWRIGHT_PACKED_MOST / 2 };

/* Channels of a block whose sums are in registers at a time. */
#if defined(__arm__)
enum { TILEWRIGHT_PACKED_LANES = 1 };
#else
enum { TILEWRIGHT_PACKED_LANES = TILEWRIGHT_PACKED_COLUMNS };
#endif

/* The lengths of runs in a round of each of a core's three loops, as digits; 16 is one run. */
struct tilewright_packed_rounds {
    int32_t first, second, third;
};

static const struct tilewright_packed_rounds tilewright_packed_to4 = {2, 33, 44},
                                             tilewright_packed_to16 = {4, 8, 16};

/* Loads the words of a tap. */
TILEWRIGHT_INLINE void tilewright_packed_load(uint32_t *pair, const uint32_t *x,
                                              const int32_t words)
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
TILEWRIGHT_INLINE void tilewright_packed_add_run(uint32_t *total, int32_t *high, const uint32_t *x,
                                                 const int8_t *w, const int32_t run,
                                                 const int32_t words)
{
    uint32_t sum[TILEWRIGHT_PACKED_LANES * TILEWRIGHT_PACKED_WORDS];
    /* With the constant in a register, the first product is a multiplication that adds. */
    uint32_t half = 0x8000u;
    TILEWRIGHT_HIDE(half);
    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < TILEWRIGHT_PACKED_LANES * words; i++) {
        sum[i] = half;
    }
    TILEWRIGHT_UNROLL_16
    for (int32_t tap = 0; tap < run; tap++) {
        uint32_t weight[TILEWRIGHT_PACKED_LANES], pair[TILEWRIGHT_PACKED_WORDS];
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
            weight[c] = (uint32_t)w[TILEWRIGHT_PACKED_COLUMNS * tap + c];
        }
        tilewright_packed_load(pair, x + words * tap, words);
        TILEWRIGHT_UNROLL_4
        for (int32_t p = 0; p < words; p++) {
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
                sum[TILEWRIGHT_PACKED_LANES * p + c] += pair[p] * weight[c];
            }
        }
    }
    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < TILEWRIGHT_PACKED_LANES * words; i++) {
        total[i] += sum[i];
        high[i] += (int32_t)sum[i] >> 16;
    }
}

/* The length of a round's runs, and their number. */
TILEWRIGHT_INLINE int32_t tilewright_packed_length(const int32_t round)
{
    return round == 16 ? 16 : round % 10;
}

TILEWRIGHT_INLINE int32_t tilewright_packed_count(const int32_t round)
{
    return round > 16 ? 2 : 1;
}

TILEWRIGHT_INLINE int32_t tilewright_packed_taps(const int32_t round)
{
    return tilewright_packed_length(round) * tilewright_packed_count(round);
}

/* Adds whole rounds of taps, up to the weights at `end`. Returns the words behind them. */
TILEWRIGHT_INLINE const uint32_t *
tilewright_packed_add_rounds(uint32_t *total, int32_t *high, const uint32_t *x, const int8_t *w,
                             const int8_t *end, const int32_t round, const int32_t words)
{
    const int32_t run = tilewright_packed_length(round), count = tilewright_packed_count(round);
    if (w != end) {
        do {
            TILEWRIGHT_UNROLL_4
            for (int32_t k = 0; k < count; k++) {
                tilewright_packed_add_run(total, high, x + words * run * k,
                                          w + TILEWRIGHT_PACKED_COLUMNS * run * k, run, words);
            }
            x += words * run * count;
            w += TILEWRIGHT_PACKED_COLUMNS * run * count;
        } while (w != end);
    }
    return x;
}

/* How often a block's loop goes round. It is read where it is needed, each time: loops need the
 * registers for sums. */
TILEWRIGHT_INLINE int32_t tilewright_packed_rounds_of(const struct tilewright_packed *job,
                                                      const uint8_t *block, const int32_t loop)
{
    const volatile uint8_t *const rounds = block + TILEWRIGHT_PACKED_COLUMNS;
    return rounds[loop] * *(const volatile int32_t *)&job->unit;
}

/* The runs of a block's loops. */
TILEWRIGHT_INLINE int32_t tilewright_packed_runs_of(const struct tilewright_packed *job,
                                                    const uint8_t *block,
                                                    const struct tilewright_packed_rounds rounds)
{
    const volatile uint8_t *const counts = block + TILEWRIGHT_PACKED_COLUMNS;
    return (counts[0] * tilewright_packed_count(rounds.first) +
            counts[1] * tilewright_packed_count(rounds.second) +
            counts[2] * tilewright_packed_count(rounds.third)) *
           *(const volatile int32_t *)&job->unit;
}

/* The bytes of a block, read as the rounds are. */
TILEWRIGHT_INLINE int32_t tilewright_packed_bytes_of(const struct tilewright_packed *job)
{
    return *(const volatile int32_t *)&job->block_bytes;
}

/* Sums of a block's channels from `lane` on, which are LANES: those of the low halves' pixels in
 * `low`. */
TILEWRIGHT_INLINE void tilewright_packed_add_taps(const struct tilewright_packed *job,
                                                  const uint8_t *block, int32_t lane,
                                                  const int32_t *bias, int32_t *low, int32_t *high,
                                                  const int32_t words,
                                                  const struct tilewright_packed_rounds rounds)
{
    uint32_t total[TILEWRIGHT_PACKED_LANES * TILEWRIGHT_PACKED_WORDS];
    const uint32_t *x = job->words;
    const int8_t *w = (const int8_t *)block + TILEWRIGHT_PACKED_HEAD + lane;

    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < TILEWRIGHT_PACKED_LANES * words; i++) {
        high[i] = bias[i % TILEWRIGHT_PACKED_LANES];
        total[i] = (uint32_t)high[i] + ((uint32_t)high[i] << 16);
    }
    const int8_t *end = w + TILEWRIGHT_PACKED_COLUMNS * tilewright_packed_taps(rounds.first) *
                                tilewright_packed_rounds_of(job, block, 0);
    x = tilewright_packed_add_rounds(total, high, x, w, end, rounds.first, words);
    w = end;
    end += TILEWRIGHT_PACKED_COLUMNS * tilewright_packed_taps(rounds.second) *
           tilewright_packed_rounds_of(job, block, 1);
    x = tilewright_packed_add_rounds(total, high, x, w, end, rounds.second, words);
    w = end;
    end += TILEWRIGHT_PACKED_COLUMNS * tilewright_packed_taps(rounds.third) *
           tilewright_packed_rounds_of(job, block, 2);
    x = tilewright_packed_add_rounds(total, high, x, w, end, rounds.third, words);
    w = end;
    end = (const int8_t *)block + tilewright_packed_bytes_of(job) + lane;
    (void)tilewright_packed_add_rounds(total, high, x, w, end, 1, words);
    const uint32_t excess = ((uint32_t)tilewright_packed_runs_of(job, block, rounds) +
                             (uint32_t)(end - w) / TILEWRIGHT_PACKED_COLUMNS)
                            << 15;
    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < TILEWRIGHT_PACKED_LANES * words; i++) {
        low[i] = (int32_t)(total[i] - excess - ((uint32_t)high[i] << 16));
    }
}

/* Stores the elements of LANES channels of all pixels; the channels are `to` bytes from those of
 * the job's pixels. */
TILEWRIGHT_INLINE void tilewright_packed_store(
    const struct tilewright_packed *job, const ptrdiff_t *to, const int32_t *low,
    const int32_t *high, const struct tilewright_constants *constants,
    const struct tilewright_limits *limits, const int32_t words,
    const enum tilewright_rule_kind rule, const enum tilewright_dsp_limits known)
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
        for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
            tilewright_dsp_store(pixel + to[c], sums[TILEWRIGHT_PACKED_LANES * (i / 2) + c],
                                 constants[c], limits, rule, known);
        }
#endif
    }
}

/* Blocks of two channels. A block begins with how far its channels are in y from where they would
 * be in order, and with the units of rounds of each loop; taps behind them are runs of one. */
TILEWRIGHT_INLINE void tilewright_packed_core(const struct tilewright_packed *job,
                                              const int32_t words,
                                              const struct tilewright_packed_rounds rounds,
                                              const int32_t row_words,
                                              const enum tilewright_rule_kind rule)
{
    const uint8_t *block = job->weights;
    const int32_t *rows = job->rows;
    const int32_t is_biased = rule != TILEWRIGHT_RULE_FOLDED;
    int32_t first = 0; /* position of the block's first channel, in order */
#if defined(__ARM_FEATURE_SAT)
    const enum tilewright_dsp_limits known =
        rule == TILEWRIGHT_RULE_AWAY || rule == TILEWRIGHT_RULE_TWICE
            ? TILEWRIGHT_DSP_ANY
            : tilewright_dsp_limits_of(&job->limits);
#endif

    do {
        for (int32_t lane = 0; lane < TILEWRIGHT_PACKED_COLUMNS; lane += TILEWRIGHT_PACKED_LANES) {
            int32_t bias[TILEWRIGHT_PACKED_LANES],
                low[TILEWRIGHT_PACKED_LANES * TILEWRIGHT_PACKED_WORDS],
                high[TILEWRIGHT_PACKED_LANES * TILEWRIGHT_PACKED_WORDS];
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
                bias[c] = is_biased != 0 ? rows[(lane + c) * row_words] : 0;
            }
            tilewright_packed_add_taps(job, block, lane, bias, low, high, words, rounds);
            const struct tilewright_limits limits = job->limits;
            struct tilewright_constants constants[TILEWRIGHT_PACKED_LANES];
            ptrdiff_t to[TILEWRIGHT_PACKED_LANES];
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
                const int32_t channel = first + lane + c + ((const int8_t *)block)[lane + c];
                to[c] = (ptrdiff_t)channel * job->channel_stride;
                constants[c] =
                    tilewright_constants_of(rows + (lane + c) * row_words, &limits, rule);
            }
#if defined(__ARM_FEATURE_SAT)
            if (known == TILEWRIGHT_DSP_SIGNED) {
                tilewright_packed_store(job, to, low, high, constants, &limits, words, rule,
                                        TILEWRIGHT_DSP_SIGNED);
                continue;
            }
            if (known == TILEWRIGHT_DSP_UNSIGNED) {
                tilewright_packed_store(job, to, low, high, constants, &limits, words, rule,
                                        TILEWRIGHT_DSP_UNSIGNED);
                continue;
            }
#endif
            tilewright_packed_store(job, to, low, high, constants, &limits, words, rule,
                                    TILEWRIGHT_DSP_ANY);
        }
        block += tilewright_packed_bytes_of(job);
        rows += TILEWRIGHT_PACKED_COLUMNS * row_words;
        first += TILEWRIGHT_PACKED_COLUMNS;
    } while (first < job->channels);
}

/* A core of so many pixels with one set of rounds, which finishes sums by a rule. */
#define TILEWRIGHT_PACKED_CORE(name, pixels, set, words, rule)                                     \
    void tilewright_packed_##name##_##pixels##_##set(const struct tilewright_packed *job)          \
    {                                                                                              \
        tilewright_packed_core(job, pixels / 2, tilewright_packed_##set, words, rule);             \
    }

/* All of a rule. */
#define TILEWRIGHT_PACKED_CORES(name, words, rule)                                                 \
    TILEWRIGHT_PACKED_CORE(name, 2, to4, words, rule)                                              \
    TILEWRIGHT_PACKED_CORE(name, 4, to4, words, rule)                                              \
    TILEWRIGHT_PACKED_CORE(name, 6, to4, words, rule)                                              \
    TILEWRIGHT_PACKED_CORE(name, 2, to16, words, rule)                                             \
    TILEWRIGHT_PACKED_CORE(name, 4, to16, words, rule)                                             \
    TILEWRIGHT_PACKED_CORE(name, 6, to16, words, rule)

#ifdef __cplusplus
}
#endif

#endif
