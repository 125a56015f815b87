/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/walk.h"

enum { A, B, RECIPROCALS, Y };

struct division {
    const struct tilewright_div_fixed_attributes *attributes;
    const int32_t *reciprocals;
};

/* Bits of a number up to its highest 1. */
static int32_t bits_of(uint32_t value)
{
    int32_t bits = 0;
    for (; value != 0; value >>= 1) {
        bits++;
    }
    return bits;
}

static int32_t quotient(const struct division *division, int32_t a, int32_t b)
{
    const struct tilewright_div_fixed_attributes *given = division->attributes;
    if (b == 0) {
        return given->zero_point;
    }
    if (b < 0) {
        a = -a;
        b = -b;
    }
    const int32_t headroom =
        a < 0 ? 32 - bits_of((uint32_t)(-2 * a) - 1u) : 31 - bits_of((uint32_t)a);
    const int32_t wide = (int32_t)((uint32_t)a << headroom);
    const int32_t reciprocal = division->reciprocals[b];
    const int32_t fraction = (int32_t)(((int64_t)wide * reciprocal + (1 << 30)) >> 31);
    const int32_t shift = given->shift - (bits_of((uint32_t)b) - 1) - headroom;
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t high = tilewright_high_up((int32_t)((uint32_t)fraction << left), given->doubled);
    if (shift < -31) {
        /* LiteRT shifts by the remainder of 32, and adds 1 unless the product is negative. */
        return tilewright_limit((int64_t)(high >> (-shift & 31)) + (high >= 0), -(1 << 30),
                                1 << 30) +
               given->zero_point;
    }
    return tilewright_round_away(high, left - shift) + given->zero_point;
}

static int32_t element(const uint8_t *at, int32_t is_unsigned)
{
    return is_unsigned != 0 ? *at : *(const int8_t *)at;
}

static void divide_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                       const void *context)
{
    const struct division *division = context;
    const struct tilewright_div_fixed_attributes *given = division->attributes;
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];

    for (; count > 0; count--) {
        const int32_t result =
            quotient(division, element(a, given->is_unsigned) - given->a_zero_point,
                     element(b, given->is_unsigned) - given->b_zero_point);
        *y = (uint8_t)tilewright_limit(result, given->minimum, given->maximum);
        a += stride[0];
        b += stride[1];
        y += stride[2];
    }
}

void tilewright_div_fixed(const struct tilewright_div_fixed_attributes *attributes,
                          const struct tilewright_view *operands, uint32_t flags)
{
    const struct division context = {attributes,
                                     (const int32_t *)(const void *)operands[RECIPROCALS].base};
    struct tilewright_walk_operand walked[3];

    (void)flags;
    tilewright_walk_set(&walked[0], &operands[A], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[B], NULL, NULL);
    tilewright_walk_set(&walked[2], &operands[Y], NULL, NULL);
    tilewright_walk(walked, 3, operands[Y].shape->extent, divide_row, &context);
}
