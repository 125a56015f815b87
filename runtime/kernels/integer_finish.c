/* SPDX-License-Identifier: Apache-2.0 */
/* From accumulators to stored elements; one pair of functions for each rule, so that a program
 * contains only those that its layers need. */
#include "tilewright/kernels/integer_core.h"

/* As minimum and maximum, GCC would compile a clamp to two more moves than as two branches. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-ssa-phiopt")
#endif

enum rule { RULE_NONE, RULE_SHIFT, RULE_HIGH, RULE_LONG, RULE_EVEN, RULE_EXACT, RULE_RESCALE };

struct constants {
    int32_t multiplier, addend, shift;
    int32_t left;
    struct tilewright_even even;
};

TILEWRIGHT_INLINE struct constants constants_of(const int32_t *row)
{
    const struct constants constants = {
        row[1], row[2], row[3], row[3] >> 8 & 31, {row[2], row[3] & 31, row[3] >> 16}};
    return constants;
}

TILEWRIGHT_INLINE int32_t clamp(int32_t value, int32_t minimum, int32_t maximum)
{
    if (value < minimum) {
        value = minimum;
    }
    if (value > maximum) {
        value = maximum;
    }
    return value;
}

TILEWRIGHT_INLINE float rescaled(int32_t sum, int32_t bits, const struct tilewright_limits *limits)
{
    const union {
        int32_t word;
        float number;
    } multiplier = {bits};
    float value = (float)sum * multiplier.number;
    if (value < limits->lowest) {
        value = limits->lowest;
    }
    if (value > limits->highest) {
        value = limits->highest;
    }
    return value;
}

TILEWRIGHT_INLINE void store(uint8_t *out, int32_t sum, struct constants constants, int32_t minimum,
                             int32_t maximum, const struct tilewright_limits *limits,
                             const enum rule rule)
{
    const int64_t product = (int64_t)sum * constants.multiplier;
    switch (rule) {
    case RULE_NONE:
        *(int32_t *)(void *)out = sum;
        break;
    case RULE_SHIFT:
        *out = (uint8_t)clamp((sum * constants.multiplier + constants.addend) >> constants.shift,
                              minimum, maximum);
        break;
    case RULE_HIGH:
        *out = (uint8_t)clamp(((int32_t)(product >> 32) + constants.addend) >> constants.shift,
                              minimum, maximum);
        break;
    case RULE_LONG:
        *out = (uint8_t)tilewright_limit(
            (product + constants.addend + (((int64_t)1 << constants.shift) >> 1)) >>
                constants.shift,
            minimum, maximum);
        break;
    case RULE_EVEN:
        *out = (uint8_t)clamp(
            tilewright_round_high((int64_t)(int32_t)((uint32_t)sum << constants.left) *
                                      constants.multiplier,
                                  constants.even),
            minimum, maximum);
        break;
    case RULE_EXACT:
        *out = (uint8_t)tilewright_limit(
            tilewright_round_even(product, constants.shift) + constants.addend, minimum, maximum);
        break;
    case RULE_RESCALE:
        *(float *)(void *)out = rescaled(sum, constants.multiplier, limits);
        break;
    }
}

TILEWRIGHT_INLINE void block(struct tilewright_sink *sink, const int32_t *restrict sums,
                             const int32_t *restrict rows, int32_t channels, const enum rule rule)
{
    /* Pixels may coincide: the last block of a tile repeats its last pixel. */
    uint8_t *a = sink->pixel[0];
    uint8_t *b = sink->pixel[1];
    uint8_t *c = sink->pixel[2];
    uint8_t *d = sink->pixel[3];
    const int32_t stride = sink->channel_stride;
    const int32_t minimum = sink->limits.minimum;
    const int32_t maximum = sink->limits.maximum;
    const struct tilewright_limits *limits = &sink->limits;
    const int32_t pixels = sink->pixels;

    do {
        const struct constants constants = constants_of(rows);
        store(a, sums[0], constants, minimum, maximum, limits, rule);
        a += stride;
        if (pixels != 1) {
            store(b, sums[1], constants, minimum, maximum, limits, rule);
            store(c, sums[2], constants, minimum, maximum, limits, rule);
            store(d, sums[3], constants, minimum, maximum, limits, rule);
            b += stride;
            c += stride;
            d += stride;
        }
        sums += pixels;
        rows += TILEWRIGHT_ROW_WORDS;
    } while (--channels != 0);
    sink->pixel[0] = a;
    sink->pixel[1] = b;
    sink->pixel[2] = c;
    sink->pixel[3] = d;
}

TILEWRIGHT_INLINE void line(const struct tilewright_limits *limits, const int32_t *restrict sums,
                            const int32_t *row, uint8_t *restrict out, int32_t stride,
                            int32_t count, const enum rule rule)
{
    const struct constants constants = constants_of(row);
    const int32_t minimum = limits->minimum;
    const int32_t maximum = limits->maximum;
    const int32_t *const end = sums + count;

    while (sums != end) {
        store(out, *sums++, constants, minimum, maximum, limits, rule);
        out += stride;
    }
}

#define TILEWRIGHT_DEFINE_FINISH(name, rule)                                                       \
    void tilewright_block_##name(struct tilewright_sink *sink, const int32_t *sums,                \
                                 const int32_t *rows, int32_t channels)                            \
    {                                                                                              \
        block(sink, sums, rows, channels, rule);                                                   \
    }                                                                                              \
    void tilewright_line_##name(const struct tilewright_limits *limits, const int32_t *sums,       \
                                const int32_t *row, uint8_t *out, int32_t stride, int32_t count)   \
    {                                                                                              \
        line(limits, sums, row, out, stride, count, rule);                                         \
    }

TILEWRIGHT_DEFINE_FINISH(none, RULE_NONE)
TILEWRIGHT_DEFINE_FINISH(shift, RULE_SHIFT)
TILEWRIGHT_DEFINE_FINISH(high, RULE_HIGH)
TILEWRIGHT_DEFINE_FINISH(long, RULE_LONG)
TILEWRIGHT_DEFINE_FINISH(even, RULE_EVEN)
TILEWRIGHT_DEFINE_FINISH(exact, RULE_EXACT)
TILEWRIGHT_DEFINE_FINISH(rescale, RULE_RESCALE)
