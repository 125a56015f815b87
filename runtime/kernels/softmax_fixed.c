/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/walk_lines.h"

enum { X, POWERS, Y };
enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

/* Bits in front of the binary point of a sum of powers: 2^12 elements fit; of its logarithm, and of
 * that of a probability. */
enum { SUM_BITS = 12, LOG_BITS = 5, RESULT_BITS = 4 };

/* Square root and fourth root of 1/2, as Q0.31. */
enum { ROOT = 1518500250, FOURTH_ROOT = 1805811301 };

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

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t leading_zeros(uint32_t value)
{
    int32_t count = 0;
    while ((value << count & 0x80000000u) == 0) {
        count++;
    }
    return count;
}

/* value * 2^exponent, limited to 32 bits. */
static int32_t raised(int32_t value, int32_t exponent)
{
    return tilewright_limit((int64_t)value * ((int64_t)1 << exponent), INT32_MIN, INT32_MAX);
}

/* The logarithm of a sum from 1 on with SUM_BITS, with LOG_BITS. The sum is 2^n * rest with a rest
 * near the fourth root of 1/2, by one of two scalings; the rest's logarithm is a quotient of
 * polynomials. */
static int32_t logarithm(int32_t sum)
{
    const int32_t bits = 31 - (LOG_BITS + 1);
    const int32_t quarter = 1 << (bits - 2);
    const int32_t a = leading_zeros((uint32_t)sum);
    const int32_t b = leading_zeros((uint32_t)high_product(sum, ROOT)) - 1;
    const int32_t a_rest = raised(high_product(raised(sum, a - 1), ROOT), 1);
    const int32_t rest = tilewright_smaller(a_rest, raised(sum, b));
    const int32_t a_power = (SUM_BITS - a) * (1 << bits) + quarter;
    const int32_t b_power = (SUM_BITS - b) * (1 << bits) - quarter;
    const int32_t power = larger(a_power, b_power);
    const int32_t middle = (int32_t)(((int64_t)rest + FOURTH_ROOT + 1) / 2);
    const int32_t q = 2 * (rest - FOURTH_ROOT);
    const int32_t square = high_product(q, q);
    const int32_t above = high_product(q, rest) + high_product(high_product(q, square), 117049297);
    const int32_t below = high_product(middle, 1057819769 + q + high_product(square, 127690142)) +
                          high_product(q, 638450708);
    const int32_t quotient =
        high_product(tilewright_round_away(above, LOG_BITS + 1), reciprocal(below));
    return raised(high_product(power, 1488522236) + quotient, 1);
}

struct log_softmax {
    const struct tilewright_log_softmax_fixed_attributes *attributes;
    const int32_t *powers;
    const int32_t *differences;
    int32_t count;
    int32_t x_stride, y_stride;
};

/* Differences from the largest element, as LiteRT counts them: all that are above the result. */
static int32_t first_excluded(const struct tilewright_log_softmax_fixed_attributes *attributes,
                              int32_t log_sum)
{
    const int32_t reach = high_product(log_sum + INT32_MIN, attributes->divisor);
    const int32_t least = tilewright_round_away(reach, attributes->right);
    return -larger(attributes->lowest - 1, least);
}

static void log_softmax(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct log_softmax *s = context;
    const int32_t flip = s->attributes->flip;
    const uint8_t *at = x;
    int32_t largest = 0;
    int32_t sum = 0;

    for (int32_t i = 0; i < s->count; i++) {
        largest = larger(*at ^ flip, largest);
        at += s->x_stride;
    }
    at = x;
    for (int32_t i = 0; i < s->count; i++) {
        sum += s->powers[largest - (*at ^ flip)];
        at += s->x_stride;
    }
    const int32_t log_sum = logarithm(sum);
    const int32_t end = first_excluded(s->attributes, log_sum);
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t difference = largest - (*x ^ flip);
        int32_t level = 0;
        if (difference < end) {
            const int32_t value = s->differences[difference] - log_sum;
            level = tilewright_round_away(value, 31 - LOG_BITS - RESULT_BITS) + 255;
        }
        *y = (uint8_t)(tilewright_limit(level, 0, 255) ^ flip);
        x += s->x_stride;
        y += s->y_stride;
    }
}

void tilewright_log_softmax_fixed(const struct tilewright_log_softmax_fixed_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    const int32_t *tables = (const int32_t *)(const void *)operands[POWERS].base;
    const struct log_softmax context = {attributes,
                                        tables,
                                        tables + 256,
                                        operands[Y].shape->extent[LAST],
                                        operands[X].shape->stride[LAST],
                                        operands[Y].shape->stride[LAST]};

    (void)flags;
    tilewright_walk_lines(&operands[X], &operands[Y], LAST, log_softmax, &context);
}

static void softmax(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct softmax *s = context;
    const uint8_t *at = x;
    int32_t largest = 0;
    int32_t sum = 0;

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
    const int32_t leading = leading_zeros((uint32_t)sum);
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
