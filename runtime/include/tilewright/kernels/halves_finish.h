/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of 32 bits as elements of int16 tensors. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_HALVES_FINISH_H
#define TILEWRIGHT_KERNELS_HALVES_FINISH_H

#include "tilewright/kernels/float_math.h"
#include "tilewright/kernels/integer_rules.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which of a channel's TILEWRIGHT_HALVES_WORDS words is what. */
enum { TILEWRIGHT_HALVES_BIAS, TILEWRIGHT_HALVES_MULTIPLIER, TILEWRIGHT_HALVES_SHIFT };

/* How sums become elements, and the bounds of elements. */
struct tilewright_halves_limits {
    int32_t finish; /* TILEWRIGHT_HALVES_... */
    int32_t minimum, maximum;
};

/* sum * multiplier / 2^31, rounded half up, then / 2^-shift, rounded half away from zero; a shift
 * above 0 shifts the sum to the left instead. */
TILEWRIGHT_INLINE int32_t tilewright_halves_twice(int32_t sum, int32_t multiplier, int32_t shift)
{
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t doubled = (int32_t)((uint32_t)multiplier << 1);
    const int32_t value = tilewright_high_up((int32_t)((uint32_t)sum << left), doubled);
    return tilewright_round_away(value, left - shift);
}

/* Stores a sum times a float whose bits are given. */
TILEWRIGHT_INLINE void tilewright_store_real(uint8_t *y, int32_t sum, int32_t bits)
{
    tilewright_store_f32(y, (float)sum * tilewright_float_of(bits));
}

/* Stores a sum; `row` has the channel's constants. */
TILEWRIGHT_INLINE void tilewright_store_halves(uint8_t *y, int32_t sum, const int32_t *row,
                                               struct tilewright_halves_limits limits)
{
    const int32_t multiplier = row[TILEWRIGHT_HALVES_MULTIPLIER];
    if (limits.finish == TILEWRIGHT_HALVES_REAL) {
        tilewright_store_real(y, sum, multiplier);
        return;
    }
    const int32_t value =
        limits.finish == TILEWRIGHT_HALVES_HIGH
            ? tilewright_high_up(sum, multiplier)
            : tilewright_halves_twice(sum, multiplier, row[TILEWRIGHT_HALVES_SHIFT]);
    *(int16_t *)(void *)y =
        (int16_t)tilewright_clamp_integer(value, limits.minimum, limits.maximum);
}

#ifdef __cplusplus
}
#endif

#endif
