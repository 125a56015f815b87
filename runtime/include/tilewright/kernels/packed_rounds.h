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

/* The lengths of runs in a round of each of a core's three loops, as digits; 16 is one run. */
struct tilewright_packed_rounds {
    int32_t first, second, third;
};

static const struct tilewright_packed_rounds tilewright_packed_to4 = {2, 33, 44},
                                             tilewright_packed_to16 = {4, 8, 16};

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
