/* SPDX-License-Identifier: Apache-2.0 */
/* The largest 8-bit elements of a window in channels that lie side by side. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_LARGEST_BYTES_H
#define TILEWRIGHT_KERNELS_LARGEST_BYTES_H

#include "tilewright/kernels/basics.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The taps of a window in channel 0; steps are bytes. Where rows lie in a ring, `ring_end` is its
 * end in the column of the first tap, and `ring_bytes` its size; 0 without a ring. */
struct tilewright_byte_taps {
    const uint8_t *first;
    int32_t rows;
    int32_t columns;
    ptrdiff_t row_bytes;
    ptrdiff_t column_bytes;
    const uint8_t *ring_end;
    ptrdiff_t ring_bytes;
};

TILEWRIGHT_INLINE const uint8_t *tilewright_next_row(struct tilewright_byte_taps taps,
                                                     const uint8_t *line, int32_t channel)
{
    line += taps.row_bytes;
    return line >= taps.ring_end + channel ? line - taps.ring_bytes : line;
}

#if defined(__ARM_FEATURE_MVE)
TILEWRIGHT_INLINE int32_t tilewright_largest_of_vectors(struct tilewright_byte_taps taps,
                                                        int32_t channels, int32_t flip, uint8_t *to)
{
    const uint8x16_t flips = vdupq_n_u8((uint8_t)flip);

    for (int32_t c = 0; c < channels; c += 16) {
        const mve_pred16_t some = vctp8q((uint32_t)(channels - c));
        const uint8_t *line = taps.first + c;
        uint8x16_t values = vdupq_n_u8(0);
        for (int32_t i = taps.rows; i > 0; i--) {
            const uint8_t *at = line;
            for (int32_t j = taps.columns; j > 0; j--) {
                values = vmaxq_u8(values, veorq_u8(vldrbq_z_u8(at, some), flips));
                at += taps.column_bytes;
            }
            line = tilewright_next_row(taps, line, c);
        }
        vstrbq_p_u8(to + c, veorq_u8(values, flips), some);
    }
    return channels;
}
#endif

/* Four channels share the steps from tap to tap. */
TILEWRIGHT_INLINE int32_t tilewright_largest_of_fours(struct tilewright_byte_taps taps,
                                                      int32_t channels, uint8_t *to,
                                                      const int is_signed)
{
    const int32_t least = is_signed ? INT8_MIN : 0;
    int32_t c = 0;

    for (; c + 4 <= channels; c += 4) {
        const uint8_t *line = taps.first + c;
        int32_t values[4] = {least, least, least, least};
        for (int32_t i = taps.rows; i > 0; i--) {
            const uint8_t *at = line;
            for (int32_t j = taps.columns; j > 0; j--) {
                TILEWRIGHT_UNROLL_4
                for (int32_t k = 0; k < 4; k++) {
                    const int32_t value = is_signed ? (int8_t)at[k] : at[k];
                    if (value > values[k]) {
                        values[k] = value;
                    }
                }
                at += taps.column_bytes;
            }
            line = tilewright_next_row(taps, line, c);
        }
        TILEWRIGHT_UNROLL_4
        for (int32_t k = 0; k < 4; k++) {
            to[c + k] = (uint8_t)values[k];
        }
    }
    return c;
}

/* Stores the largest elements of the first of `channels` channels, which lie side by side in `to`
 * as well; returns their number. `flip` is 128 for int8, 0 for uint8. Builds for size store none.
 */
TILEWRIGHT_INLINE int32_t tilewright_largest_bytes(struct tilewright_byte_taps taps,
                                                   int32_t channels, int32_t flip, uint8_t *to)
{
#if defined(__ARM_FEATURE_MVE)
    return tilewright_largest_of_vectors(taps, channels, flip, to);
#elif defined(__OPTIMIZE_SIZE__)
    (void)taps;
    (void)channels;
    (void)flip;
    (void)to;
    return 0;
#else
    return flip != 0 ? tilewright_largest_of_fours(taps, channels, to, 1)
                     : tilewright_largest_of_fours(taps, channels, to, 0);
#endif
}

#ifdef __cplusplus
}
#endif

#endif
