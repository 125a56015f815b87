/* SPDX-License-Identifier: Apache-2.0 */
/* The largest 8-bit elements of a window in channels that lie side by side. Each function stands
 * for windows of one kind, so that firmware contains those that it calls. */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/basics.h"
#include "tilewright/kernels/byte_taps.h"
#include "tilewright/kernels/dsp.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

TILEWRIGHT_INLINE const uint8_t *next_row(struct tilewright_byte_taps taps, const uint8_t *line,
                                          int32_t channel)
{
    line += taps.row_bytes;
    return line >= taps.ring_end + channel ? line - taps.ring_bytes : line;
}

#if defined(__ARM_FEATURE_MVE)
TILEWRIGHT_INLINE int32_t of_vectors(struct tilewright_byte_taps taps, int32_t channels,
                                     int32_t flip, uint8_t *to)
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
            line = next_row(taps, line, c);
        }
        vstrbq_p_u8(to + c, veorq_u8(values, flips), some);
    }
    return channels;
}
#endif

/* Elements of four channels that lie side by side. Callers pass constants for `is_signed`. */
#if defined(__ARM_FEATURE_DSP)
struct four {
    uint32_t word;
};

TILEWRIGHT_INLINE struct four least_four(const int is_signed)
{
    const struct four least = {is_signed ? 0x80808080u : 0};
    return least;
}

/* The larger ones of those at `at` and of the largest so far. */
TILEWRIGHT_INLINE void raise_four(struct four *largest, const uint8_t *at, const int is_signed)
{
    largest->word = tilewright_dsp_larger(largest->word, tilewright_dsp_load(at), is_signed);
}

TILEWRIGHT_INLINE void store_four(struct four largest, uint8_t *to)
{
    tilewright_dsp_store_word(to, largest.word);
}
#else
struct four {
    int32_t channel[4];
};

TILEWRIGHT_INLINE struct four least_four(const int is_signed)
{
    const int32_t least = is_signed ? INT8_MIN : 0;
    const struct four four = {{least, least, least, least}};
    return four;
}

/* The larger ones of those at `at` and of the largest so far. */
TILEWRIGHT_INLINE void raise_four(struct four *largest, const uint8_t *at, const int is_signed)
{
    TILEWRIGHT_UNROLL_4
    for (int32_t k = 0; k < 4; k++) {
        const int32_t value = is_signed ? (int8_t)at[k] : at[k];
        if (value > largest->channel[k]) {
            largest->channel[k] = value;
        }
    }
}

TILEWRIGHT_INLINE void store_four(struct four largest, uint8_t *to)
{
    TILEWRIGHT_UNROLL_4
    for (int32_t k = 0; k < 4; k++) {
        to[k] = (uint8_t)largest.channel[k];
    }
}
#endif

/* Four channels share the steps from tap to tap. */
TILEWRIGHT_INLINE int32_t of_fours(struct tilewright_byte_taps taps, int32_t channels, uint8_t *to,
                                   const int is_signed)
{
    int32_t c = 0;

    for (; c + 4 <= channels; c += 4) {
        const uint8_t *line = taps.first + c;
        struct four four = least_four(is_signed);
        for (int32_t i = taps.rows; i > 0; i--) {
            const uint8_t *at = line;
            for (int32_t j = taps.columns; j > 0; j--) {
                raise_four(&four, at, is_signed);
                at += taps.column_bytes;
            }
            line = next_row(taps, line, c);
        }
        store_four(four, to + c);
    }
    return c;
}

/* of_fours for `side` rows and columns: callers pass a constant, 2 or 3, so that no loop over taps
 * is left. */
TILEWRIGHT_INLINE int32_t of_square(struct tilewright_byte_taps taps, int32_t channels, uint8_t *to,
                                    const int is_signed, const int32_t side)
{
    const uint8_t *const second = next_row(taps, taps.first, 0);
    const uint8_t *const third = side == 3 ? next_row(taps, second, 0) : NULL;
    const uint8_t *const lines[3] = {taps.first, second, third};
    int32_t c = 0;

    for (; c + 4 <= channels; c += 4) {
        struct four four = least_four(is_signed);
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < side; i++) {
            const uint8_t *at = lines[i] + c;
            TILEWRIGHT_UNROLL_4
            for (int32_t j = 0; j < side; j++) {
                raise_four(&four, at, is_signed);
                at += taps.column_bytes;
            }
        }
        store_four(four, to + c);
    }
    return c;
}

/* Callers pass constants for `is_signed` and `side`, the rows and columns of windows beside no
 * padding, or 0. Builds for size store no channels. */
TILEWRIGHT_INLINE int32_t largest(const struct tilewright_byte_taps *taps, int32_t channels,
                                  uint8_t *to, const int is_signed, const int32_t side)
{
#if defined(__ARM_FEATURE_MVE)
    (void)side;
    return of_vectors(*taps, channels, is_signed ? 128 : 0, to);
#elif defined(__OPTIMIZE_SIZE__)
    (void)taps;
    (void)channels;
    (void)to;
    (void)is_signed;
    (void)side;
    return 0;
#else
    if (side != 0 && taps->rows == side && taps->columns == side) {
        return of_square(*taps, channels, to, is_signed, side);
    }
    return of_fours(*taps, channels, to, is_signed);
#endif
}

#define TILEWRIGHT_LARGEST(name, is_signed, side)                                                  \
    int32_t name(const struct tilewright_byte_taps *taps, int32_t channels, uint8_t *to)           \
    {                                                                                              \
        return largest(taps, channels, to, is_signed, side);                                       \
    }

TILEWRIGHT_LARGEST(tilewright_largest_int8, 1, 0)
TILEWRIGHT_LARGEST(tilewright_largest_int8_2x2, 1, 2)
TILEWRIGHT_LARGEST(tilewright_largest_int8_3x3, 1, 3)
TILEWRIGHT_LARGEST(tilewright_largest_uint8, 0, 0)
TILEWRIGHT_LARGEST(tilewright_largest_uint8_2x2, 0, 2)
TILEWRIGHT_LARGEST(tilewright_largest_uint8_3x3, 0, 3)
