/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of packed convolutions: one 32-bit multiplication gives the products of two pixels.
 * Each rule has its cores with one set of rounds in a file of its own, so that a firmware compiles
 * those that it needs.
 * Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_PACKED_CORE_H
#define TILEWRIGHT_KERNELS_PACKED_CORE_H

#include "tilewright/kernels/dsp_rules.h"
/* On Arm, where sums of one channel are in registers at a time, little code would take 1.7 times
 * the instructions. */
#if defined(__OPTIMIZE_SIZE__) && !defined(__arm__)
#define TILEWRIGHT_PACKED_SMALL
#define TILEWRIGHT_PACKED_UNROLL
#include "tilewright/kernels/packed_small.h"
#else
#define TILEWRIGHT_PACKED_UNROLL TILEWRIGHT_UNROLL_16
#include "tilewright/kernels/packed_fast.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Sums of a block's channels from `lane` on, which are LANES: those of the low halves' pixels in
 * `low`. */
TILEWRIGHT_INLINE void tilewright_packed_add_taps(const struct tilewright_packed *job,
                                                  const uint8_t *block, int32_t lane,
                                                  const int32_t *bias, int32_t *low, int32_t *high,
                                                  const int32_t words,
                                                  const struct tilewright_packed_rounds rounds)
{
#if defined(TILEWRIGHT_PACKED_SMALL)
    tilewright_packed_add_taps_small(job, block, lane, bias, low, high, words, rounds);
#else
    tilewright_packed_add_taps_fast(job, block, lane, bias, low, high, words, rounds);
#endif
}

/* Stores the elements of LANES channels of all pixels; the channels are `to` bytes from those of
 * the job's pixels. */
TILEWRIGHT_INLINE void tilewright_packed_store(
    const struct tilewright_packed *job, const ptrdiff_t *to, const int32_t *low,
    const int32_t *high, const struct tilewright_constants *constants,
    const struct tilewright_limits *limits, const int32_t words,
    const enum tilewright_rule_kind rule, const enum tilewright_dsp_limits known)
{
#if defined(__arm__)
    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < 2 * words; i++) {
        const int32_t *const sums = i % 2 == 0 ? low : high;
        /* The address is loaded behind the last use of what else needs registers. */
        uint8_t element = 0;
        tilewright_dsp_store(&element, sums[i / 2], constants[0], limits, rule, known);
        job->pixel[i][to[0]] = element;
    }
#else
    TILEWRIGHT_PACKED_UNROLL
    for (int32_t p = 0; p < words; p++) {
        TILEWRIGHT_UNROLL_4
        for (int32_t half = 0; half < 2; half++) {
            const int32_t *const sums = (half == 0 ? low : high) + TILEWRIGHT_PACKED_LANES * p;
            uint8_t *const pixel = job->pixel[2 * p + half];
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
                tilewright_dsp_store(pixel + to[c], sums[c], constants[c], limits, rule, known);
            }
        }
    }
#endif
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

/* The cores of a rule with one set of rounds. A file has those of one set, since a network takes
 * one: each core takes the compiler as long as a small kernel does. */
#define TILEWRIGHT_PACKED_CORES(name, set, words, rule)                                            \
    TILEWRIGHT_PACKED_CORE(name, 2, set, words, rule)                                              \
    TILEWRIGHT_PACKED_CORE(name, 4, set, words, rule)                                              \
    TILEWRIGHT_PACKED_CORE(name, 6, set, words, rule)

#ifdef __cplusplus
}
#endif

#endif
