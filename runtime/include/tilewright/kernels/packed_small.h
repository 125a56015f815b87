/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of packed cores with little code, where a compiler optimises for size. Only for kernels.
 */
#ifndef TILEWRIGHT_KERNELS_PACKED_SMALL_H
#define TILEWRIGHT_KERNELS_PACKED_SMALL_H

#include "tilewright/kernels/packed_rounds.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds one tap to a run. */
TILEWRIGHT_INLINE void tilewright_packed_add_tap(uint32_t *sum, const uint32_t *x, const int8_t *w,
                                                 const int32_t words, const int32_t bytes)
{
    uint32_t weight[TILEWRIGHT_PACKED_LANES];
    TILEWRIGHT_UNROLL_4
    for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
        weight[c] = (uint32_t)tilewright_weight_at(w, c, bytes);
    }
    TILEWRIGHT_UNROLL_4
    for (int32_t p = 0; p < words; p++) {
        const uint32_t pair = x[p];
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
            sum[TILEWRIGHT_PACKED_LANES * p + c] += pair * weight[c];
        }
    }
}

/* The lengths of runs of each of a core's loops, and the taps of a round: a byte for each loop. */
struct tilewright_packed_bytes {
    uint32_t runs, rounds;
};

/* Sums of a block's channels from `lane` on, which are LANES: those of the low halves' pixels in
 * `low`. One loop for runs of all lengths, tap by tap: less than a third of the code. */
TILEWRIGHT_INLINE void tilewright_packed_loops(const struct tilewright_packed *job,
                                               const uint8_t *block, const int32_t lane,
                                               const int32_t *bias, int32_t *low, int32_t *high,
                                               struct tilewright_packed_bytes lengths,
                                               const int32_t words, const int32_t bytes)
{
    enum { SUMS = TILEWRIGHT_PACKED_LANES * TILEWRIGHT_PACKED_WORDS };
    uint32_t total[SUMS], upper[SUMS], sum[SUMS];
    const int32_t sums = TILEWRIGHT_PACKED_LANES * words;
    const uint32_t *x = job->words;
    const int8_t *w = tilewright_packed_first(block, lane, bytes);
    const int8_t *const last = (const int8_t *)block + job->block_bytes + lane * bytes;
    const int32_t tap_bytes = TILEWRIGHT_PACKED_COLUMNS * bytes;
    uint32_t excess = 0;
    /* In memory meanwhile: with -Os a compiler would rather keep sums there. */
    int32_t *volatile low_later = low, *volatile high_later = high;
    const uint8_t *volatile rounds = block + TILEWRIGHT_PACKED_COLUMNS;
    volatile struct tilewright_packed_bytes later = lengths;
    const volatile int32_t unit = job->unit;

    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < sums; i++) {
        upper[i] = (uint32_t)bias[i % TILEWRIGHT_PACKED_LANES];
        total[i] = upper[i] + (upper[i] << 16);
    }
    for (; later.runs != 0; later.runs >>= 8) {
        const int8_t *end = last;
        if (later.rounds != 0) {
            const uint8_t *const count = rounds;
            end = w + tap_bytes * (int32_t)(later.rounds & 255u) * *count * unit;
            rounds = count + 1;
        }
        later.rounds >>= 8;
        while (w != end) {
            const int8_t *const run = w + tap_bytes * (int32_t)(later.runs & 255u);
            TILEWRIGHT_UNROLL_16
            for (int32_t i = 0; i < sums; i++) {
                sum[i] = 0x8000u;
            }
            do {
                tilewright_packed_add_tap(sum, x, w, words, bytes);
                x += words;
                w += tap_bytes;
            } while (w != run);
            TILEWRIGHT_UNROLL_16
            for (int32_t i = 0; i < sums; i++) {
                total[i] += sum[i];
                upper[i] += (uint32_t)((int32_t)sum[i] >> 16);
            }
            excess += 0x8000u;
        }
    }
    int32_t *const low_at = low_later, *const high_at = high_later;
    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < sums; i++) {
        high_at[i] = (int32_t)upper[i];
        low_at[i] = (int32_t)(total[i] - excess - (upper[i] << 16));
    }
}

/* A function for so many words of a tap: what calls it needs the registers that sums have here. */
#define TILEWRIGHT_PACKED_LOOPS(name, words, weight_bytes)                                         \
    TILEWRIGHT_CALLED void tilewright_packed_loops_##name(                                         \
        const struct tilewright_packed *job, const uint8_t *block, int32_t lane,                   \
        const int32_t *bias, int32_t *low, int32_t *high, struct tilewright_packed_bytes lengths)  \
    {                                                                                              \
        tilewright_packed_loops(job, block, lane, bias, low, high, lengths, words, weight_bytes);  \
    }

TILEWRIGHT_PACKED_LOOPS(1, 1, 1)
TILEWRIGHT_PACKED_LOOPS(2, 2, 1)
TILEWRIGHT_PACKED_LOOPS(3, 3, 1)
TILEWRIGHT_PACKED_LOOPS(wide, 2, 2)

TILEWRIGHT_INLINE void
tilewright_packed_add_taps_small(const struct tilewright_packed *job, const uint8_t *block,
                                 int32_t lane, const int32_t *bias, int32_t *low, int32_t *high,
                                 const int32_t words, const struct tilewright_packed_rounds rounds)
{
    const struct tilewright_packed_bytes lengths = {
        (uint32_t)tilewright_packed_length(rounds.first) |
            (uint32_t)tilewright_packed_length(rounds.second) << 8 |
            (uint32_t)tilewright_packed_length(rounds.third) << 16 | 1u << 24,
        (uint32_t)tilewright_packed_taps(rounds.first) |
            (uint32_t)tilewright_packed_taps(rounds.second) << 8 |
            (uint32_t)tilewright_packed_taps(rounds.third) << 16};
    if (rounds.weight_bytes == 2) {
        tilewright_packed_loops_wide(job, block, lane, bias, low, high, lengths);
    } else if (words == 1) {
        tilewright_packed_loops_1(job, block, lane, bias, low, high, lengths);
    } else if (words == 2) {
        tilewright_packed_loops_2(job, block, lane, bias, low, high, lengths);
    } else {
        tilewright_packed_loops_3(job, block, lane, bias, low, high, lengths);
    }
}

#ifdef __cplusplus
}
#endif

#endif
