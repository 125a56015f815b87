/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/integer_line.h"
#include "tilewright/kernels/walk.h"

/* A factor below 1 as in rule twice: doubled / 2^32 / 2^shift. A shift of 0 has no second rounding:
 * then `round` and `half` are 0. */
struct factor {
    int32_t doubled;
    int32_t round; /* all bits set: numbers below 0 round away from it */
    int32_t half;
    int32_t shift;
};

static struct factor factor_of(int32_t doubled, int32_t shift)
{
    const struct factor factor = {doubled, -(shift != 0), (int32_t)((1u << shift) >> 1), shift};
    return factor;
}

TILEWRIGHT_INLINE int32_t multiplied(int32_t value, struct factor factor)
{
    const int32_t high = tilewright_high_up(value, factor.doubled);
    return (high + ((high >> 31) & factor.round) + factor.half) >> factor.shift;
}

struct sum {
    const struct tilewright_add_scaled_attributes *attributes;
    struct factor a, b, y;
};

/* Reads int8 and uint8 by one expression: (byte ^ flip) - flip with flip 128 gives int8, with 0
 * uint8. */
static void bytes_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct sum sum = *(const struct sum *)context;
    const struct tilewright_add_scaled_attributes *attributes = sum.attributes;
    const int32_t flip_a = attributes->a_type == 0 ? 128 : 0;
    const int32_t flip_b = attributes->b_type == 0 ? 128 : 0;
    const int32_t zero_a = attributes->a_zero_point + flip_a;
    const int32_t zero_b = attributes->b_zero_point + flip_b;
    const int32_t left = attributes->left;
    const int32_t sign = attributes->sign;
    const int32_t zero_point = attributes->zero_point;
    const int32_t minimum = attributes->minimum;
    const int32_t maximum = attributes->maximum;
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];

    for (; count > 0; count--) {
        const int32_t scaled_a = multiplied(((*a ^ flip_a) - zero_a) * (1 << left), sum.a);
        const int32_t scaled_b = multiplied(((*b ^ flip_b) - zero_b) * (1 << left), sum.b);
        int32_t value = multiplied(scaled_a + sign * scaled_b, sum.y) + zero_point;
        if (value < minimum) {
            value = minimum;
        }
        if (value > maximum) {
            value = maximum;
        }
        *y = (uint8_t)value;
        a += stride[0];
        b += stride[1];
        y += stride[2];
    }
}

static void halves_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                       const void *context)
{
    const struct sum *sum = context;
    const struct tilewright_add_scaled_attributes *attributes = sum->attributes;
    const int32_t left = attributes->left;
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];

    for (; count > 0; count--) {
        const int32_t scaled_a =
            multiplied(*(const int16_t *)(const void *)a * (1 << left), sum->a);
        const int32_t scaled_b =
            multiplied(*(const int16_t *)(const void *)b * (1 << left), sum->b);
        const int32_t value = multiplied(scaled_a + attributes->sign * scaled_b, sum->y);
        *(int16_t *)(void *)y =
            (int16_t)tilewright_limit(value, attributes->minimum, attributes->maximum);
        a += stride[0];
        b += stride[1];
        y += stride[2];
    }
}

static void add(const struct tilewright_add_scaled_attributes *attributes,
                const struct tilewright_view *operands, tilewright_row_function row)
{
    const struct sum sum = {attributes, factor_of(attributes->a_doubled, attributes->a_shift),
                            factor_of(attributes->b_doubled, attributes->b_shift),
                            factor_of(attributes->doubled, attributes->shift)};
    tilewright_walk_pair(operands, &operands[2], row, &sum);
}

void tilewright_add_scaled(const struct tilewright_add_scaled_attributes *attributes,
                           const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    add(attributes, operands, bytes_row);
}

void tilewright_add_scaled_halves(const struct tilewright_add_scaled_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    add(attributes, operands, halves_row);
}
