/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/walk_lines.h"

enum { X, POWERS, Y };
enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

/* Bits in front of the binary point of a sum of powers: 2^12 elements fit. */
enum { SUM_BITS = 12 };

struct softmax {
    const int32_t *powers;
    int32_t count;
    int32_t x_stride, y_stride;
    int32_t flip, offset;
};

/* a * b / 2^31, rounded half up. */
static int32_t high_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}

/* value * 4, limited to 32 bits. */
static int32_t quadrupled(int32_t value)
{
    return tilewright_limit((int64_t)value * 4, INT32_MIN, INT32_MAX);
}

/* 1 / (1 + fraction), both as Q0.31: three steps of Newton and Raphson on numbers as Q2.29, from
 * 48/17 - 32/17 x. */
static int32_t reciprocal(int32_t fraction)
{
    const int32_t half_sum = (int32_t)(((int64_t)fraction + INT32_MAX + 1) / 2);
    int32_t x = 1515870810 + high_product(half_sum, -1010580540);
    for (int32_t i = 0; i < 3; i++) {
        const int32_t error = (1 << 29) - high_product(half_sum, x);
        x += quadrupled(high_product(x, error));
    }
    return tilewright_limit((int64_t)x * 2, INT32_MIN, INT32_MAX);
}

static void softmax(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct softmax *s = context;
    const uint8_t *at = x;
    int32_t largest = 0;
    int32_t sum = 0;
    int32_t leading = 0;

    for (int32_t i = 0; i < s->count; i++) {
        const int32_t value = *at ^ s->flip;
        largest = value > largest ? value : largest;
        at += s->x_stride;
    }
    at = x;
    for (int32_t i = 0; i < s->count; i++) {
        sum += tilewright_round_away(s->powers[largest - (*at ^ s->flip)], SUM_BITS);
        at += s->x_stride;
    }
    /* The sum is 2^(SUM_BITS - leading) * (1 + fraction). */
    while (((uint32_t)sum << leading & 0x80000000u) == 0) {
        leading++;
    }
    const int32_t scale = reciprocal((int32_t)(((uint32_t)sum << leading) & 0x7fffffffu));
    const int halves = s->offset == 32768;
    const int32_t shift = SUM_BITS - leading + 31 - (halves ? 16 : 8);
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t product = high_product(scale, s->powers[largest - (*x ^ s->flip)]);
        const int32_t level = tilewright_round_away(product, shift);
        if (halves) {
            *(int16_t *)(void *)y = (int16_t)(tilewright_smaller(level, 65535) - s->offset);
        } else {
            *y = (uint8_t)(tilewright_smaller(level, 255) - s->offset);
        }
        x += s->x_stride;
        y += s->y_stride;
    }
}

void tilewright_softmax_fixed(const struct tilewright_softmax_fixed_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags)
{
    const struct softmax context = {(const int32_t *)(const void *)operands[POWERS].base,
                                    operands[Y].shape->extent[LAST],
                                    operands[X].shape->stride[LAST],
                                    operands[Y].shape->stride[LAST],
                                    attributes->flip,
                                    attributes->offset};

    (void)flags;
    tilewright_walk_lines(&operands[X], &operands[Y], LAST, softmax, &context);
}
