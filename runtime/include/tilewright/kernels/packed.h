/* SPDX-License-Identifier: Apache-2.0 */
/* Words of two pixels: the first pixel's element plus the second pixel's element times 2^16. Only
 * for kernels. */
#ifndef TILEWRIGHT_KERNELS_PACKED_H
#define TILEWRIGHT_KERNELS_PACKED_H

#include "tilewright/kernels/integer_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hides a register's value from the compiler, so that a constant stays in the register. */
#if defined(__arm__) && defined(__GNUC__)
#define TILEWRIGHT_HIDE(value) TILEWRIGHT_FORGET(value)
#else
#define TILEWRIGHT_HIDE(value)
#endif

/* Pixels that a call of a core multiplies at most, channels of a block, and bytes in front of its
 * weights. */
enum { TILEWRIGHT_PACKED_MOST = 6, TILEWRIGHT_PACKED_COLUMNS = 2, TILEWRIGHT_PACKED_HEAD = 5 };

/* Some pixels of y, all whose channels a core computes. */
struct tilewright_packed {
    uint8_t *pixel[TILEWRIGHT_PACKED_MOST]; /* address of each pixel's first channel */
    const uint32_t *words;                  /* [tap][pixels / 2] */
    const uint8_t *weights;                 /* [block of two channels][block_bytes] */
    const int32_t *rows;                    /* [block][2][words of the rule] */
    int32_t block_bytes;
    int32_t unit; /* rounds of the core's loops that a byte of a block counts as one */
    int32_t channels;
    int32_t channel_stride; /* bytes between the results of two channels */
    struct tilewright_limits limits;
    tilewright_block_finish *finish; /* of cores that have none inside, and the words of its rows */
    int32_t row_words;
};

/* The word of two int8 elements. */
TILEWRIGHT_INLINE uint32_t tilewright_pair(int32_t first, int32_t second)
{
    return (uint32_t)first + ((uint32_t)second << 16);
}

#ifdef __cplusplus
}
#endif

#endif
