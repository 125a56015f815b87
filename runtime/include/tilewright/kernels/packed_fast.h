/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of packed cores, with a loop for the runs of each length. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_PACKED_FAST_H
#define TILEWRIGHT_KERNELS_PACKED_FAST_H

#include "tilewright/kernels/packed_rounds.h"

#ifdef __cplusplus
extern "C" {
#endif

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
                                                 const int32_t words, const int32_t bytes)
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
            weight[c] =
                (uint32_t)tilewright_weight_at(w, TILEWRIGHT_PACKED_COLUMNS * tap + c, bytes);
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

/* Adds whole rounds of taps, up to the weights at `end`. Returns the words behind them. */
TILEWRIGHT_INLINE const uint32_t *
tilewright_packed_add_rounds(uint32_t *total, int32_t *high, const uint32_t *x, const int8_t *w,
                             const int8_t *end, const int32_t round, const int32_t words,
                             const int32_t bytes)
{
    const int32_t run = tilewright_packed_length(round), count = tilewright_packed_count(round);
    const int32_t run_bytes = TILEWRIGHT_PACKED_COLUMNS * run * bytes;
    if (w != end) {
        do {
            TILEWRIGHT_UNROLL_4
            for (int32_t k = 0; k < count; k++) {
                tilewright_packed_add_run(total, high, x + words * run * k, w + run_bytes * k, run,
                                          words, bytes);
            }
            x += words * run * count;
            w += run_bytes * count;
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

/* Sums of a block's channels from `lane` on, which are LANES: those of the low halves' pixels in
 * `low`. */
TILEWRIGHT_INLINE void tilewright_packed_add_taps_fast(const struct tilewright_packed *job,
                                                       const uint8_t *block, int32_t lane,
                                                       const int32_t *bias, int32_t *low,
                                                       int32_t *high, const int32_t words,
                                                       const struct tilewright_packed_rounds rounds)
{
    uint32_t total[TILEWRIGHT_PACKED_LANES * TILEWRIGHT_PACKED_WORDS];
    const uint32_t *x = job->words;
    const int32_t bytes = rounds.weight_bytes, tap_bytes = TILEWRIGHT_PACKED_COLUMNS * bytes;
    const int8_t *w = tilewright_packed_first(block, lane, bytes);

    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < TILEWRIGHT_PACKED_LANES * words; i++) {
        high[i] = bias[i % TILEWRIGHT_PACKED_LANES];
        total[i] = (uint32_t)high[i] + ((uint32_t)high[i] << 16);
    }
    const int8_t *end = w + tap_bytes * tilewright_packed_taps(rounds.first) *
                                tilewright_packed_rounds_of(job, block, 0);
    x = tilewright_packed_add_rounds(total, high, x, w, end, rounds.first, words, bytes);
    w = end;
    end += tap_bytes * tilewright_packed_taps(rounds.second) *
           tilewright_packed_rounds_of(job, block, 1);
    x = tilewright_packed_add_rounds(total, high, x, w, end, rounds.second, words, bytes);
    w = end;
    end += tap_bytes * tilewright_packed_taps(rounds.third) *
           tilewright_packed_rounds_of(job, block, 2);
    x = tilewright_packed_add_rounds(total, high, x, w, end, rounds.third, words, bytes);
    w = end;
    end = (const int8_t *)block + tilewright_packed_bytes_of(job) + lane * bytes;
    (void)tilewright_packed_add_rounds(total, high, x, w, end, 1, words, bytes);
    const uint32_t excess = ((uint32_t)tilewright_packed_runs_of(job, block, rounds) +
                             (uint32_t)(end - w) / (uint32_t)tap_bytes)
                            << 15;
    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < TILEWRIGHT_PACKED_LANES * words; i++) {
        low[i] = (int32_t)(total[i] - excess - ((uint32_t)high[i] << 16));
    }
}

#ifdef __cplusplus
}
#endif

#endif
