/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of runs of taps, which the loops of packed cores go. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_PACKED_ROUNDS_H
#define TILEWRIGHT_KERNELS_PACKED_ROUNDS_H

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

/* The lengths of runs in a round of each of a core's three loops, as digits; 16 is one run. Weights
 * are of int8, or of int16: `weight_bytes`. */
struct tilewright_packed_rounds {
    int32_t first, second, third;
    int32_t weight_bytes;
};

static const struct tilewright_packed_rounds tilewright_packed_to4 = {2, 33, 44, 1},
                                             tilewright_packed_to8 = {2, 4, 8, 1},
                                             tilewright_packed_to16 = {4, 8, 16, 1},
                                             tilewright_packed_wide = {2, 33, 44, 2};

/* Where a block's weights of a lane begin: behind its head, at a multiple of their bytes. */
TILEWRIGHT_INLINE const int8_t *tilewright_packed_first(const uint8_t *block, int32_t lane,
                                                        const int32_t bytes)
{
    return (const int8_t *)block + TILEWRIGHT_PACKED_HEAD + bytes - 1 + lane * bytes;
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

/* The bytes of a block, read where they are needed: loops need the registers for sums. */
TILEWRIGHT_INLINE int32_t tilewright_packed_bytes_of(const struct tilewright_packed *job)
{
    return *(const volatile int32_t *)&job->block_bytes;
}

#ifdef __cplusplus
}
#endif

#endif
