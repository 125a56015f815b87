/* SPDX-License-Identifier: Apache-2.0 */
/* Finishes: functions that turn sums into stored elements. Each rule has two, one for blocks and
 * one for lines, so that a program contains only the functions that its layers call. */
#include "tilewright/kernels/integer_core.h"

enum rule {
    RULE_NONE,
    RULE_SHIFT,
    RULE_FOLDED,
    RULE_HIGH,
    RULE_LAYER,
    RULE_LONG,
    RULE_EVEN,
    RULE_LAYER_EVEN,
    RULE_EXACT,
    RULE_RESCALE,
    RULE_TWICE,
    RULE_TWICE_ANY,
    RULE_TWICE_HALF,
    RULE_TWICE_WORD
};

struct constants {
    int32_t multiplier, addend, shift;
    int32_t left;
    struct tilewright_even even;
};

TILEWRIGHT_INLINE struct constants
constants_of(const int32_t *row, const struct tilewright_limits *limits, const enum rule rule)
{
    const int32_t of_layer = rule == RULE_LAYER || rule == RULE_LAYER_EVEN;
    struct constants constants = {0, 0, 0, 0, {0, 0, 0}};
    if (rule == RULE_FOLDED) {
        constants.multiplier = row[0];
        constants.addend = row[1];
        constants.shift = limits->shift;
    } else if (rule != RULE_NONE) {
        constants.multiplier = row[1];
    }
    if (rule != RULE_NONE && rule != RULE_FOLDED && rule != RULE_RESCALE) {
        const int32_t shift = of_layer ? limits->shift : row[3];
        const int32_t addend = of_layer ? limits->addend : row[2];
        constants.addend = addend;
        constants.shift = shift;
        constants.left = shift >> 8 & 31;
        constants.even.addend = addend;
        constants.even.shift = shift & 31;
        constants.even.odd = shift >> 16;
    }
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

TILEWRIGHT_INLINE float float_of(int32_t bits)
{
    const union {
        int32_t word;
        float number;
    } value = {bits};
    return value.number;
}

TILEWRIGHT_INLINE float rescaled(int32_t sum, int32_t bits, const struct tilewright_limits *limits)
{
    float value = (float)sum * float_of(bits);
    if (value < float_of(limits->minimum)) {
        value = float_of(limits->minimum);
    }
    if (value > float_of(limits->maximum)) {
        value = float_of(limits->maximum);
    }
    return value;
}

TILEWRIGHT_INLINE int32_t twice(int32_t sum, struct constants constants, int32_t minimum,
                                int32_t maximum)
{
    const int32_t high =
        tilewright_high_up((int32_t)((uint32_t)sum << constants.left), constants.multiplier);
    return clamp(tilewright_round_away(high, constants.even.shift) + constants.addend, minimum,
                 maximum);
}

TILEWRIGHT_INLINE void store(uint8_t *out, int32_t sum, struct constants constants,
                             const struct tilewright_limits *limits, const enum rule rule)
{
    const int32_t minimum = limits->minimum;
    const int32_t maximum = limits->maximum;
    const int64_t product = (int64_t)sum * constants.multiplier;
    switch (rule) {
    case RULE_NONE:
        *(int32_t *)(void *)out = sum;
        break;
    case RULE_SHIFT:
        *out = (uint8_t)clamp((sum * constants.multiplier + constants.addend) >> constants.shift,
                              minimum, maximum);
        break;
    case RULE_FOLDED:
        *out = (uint8_t)clamp((int32_t)((uint32_t)sum * (uint32_t)constants.multiplier +
                                        (uint32_t)constants.addend) >>
                                  constants.shift,
                              minimum, maximum);
        break;
    case RULE_HIGH:
    case RULE_LAYER:
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
    case RULE_LAYER_EVEN:
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
    case RULE_TWICE: {
        /* An arithmetic shift rounds halves up; of negative numbers, less one, it rounds them down.
         */
        const int32_t high = tilewright_high_up(sum, constants.multiplier);
        *out = (uint8_t)clamp((high + (high >> 31) + constants.addend) >> constants.shift, minimum,
                              maximum);
        break;
    }
    case RULE_TWICE_ANY:
        *out = (uint8_t)twice(sum, constants, minimum, maximum);
        break;
    case RULE_TWICE_HALF:
        *(int16_t *)(void *)out = (int16_t)twice(sum, constants, minimum, maximum);
        break;
    case RULE_TWICE_WORD:
        *(int32_t *)(void *)out = twice(sum, constants, minimum, maximum);
        break;
    case RULE_RESCALE:
        *(float *)(void *)out = rescaled(sum, constants.multiplier, limits);
        break;
    }
}

TILEWRIGHT_INLINE void block(struct tilewright_sink *sink, const int32_t *restrict sums,
                             const int32_t *restrict rows, int32_t channels, const enum rule rule)
{
    /* Two pointers may be equal: the last block of a tile may compute its last pixel twice. */
    uint8_t *a = sink->pixel[0];
    uint8_t *b = sink->pixel[1];
    uint8_t *c = sink->pixel[2];
    uint8_t *d = sink->pixel[3];
    const int32_t stride = sink->channel_stride;
    /* A copy stays in registers: the compiler knows that stores of bytes do not change it. */
    const struct tilewright_limits limits = sink->limits;
    const int32_t pixels = sink->pixels;
    const int32_t words = sink->row_words;

    do {
        const struct constants constants = constants_of(rows, &limits, rule);
        store(a, sums[0], constants, &limits, rule);
        a += stride;
        if (pixels != 1) {
            store(b, sums[1], constants, &limits, rule);
            store(c, sums[2], constants, &limits, rule);
            store(d, sums[3], constants, &limits, rule);
            b += stride;
            c += stride;
            d += stride;
        }
        sums += pixels;
        rows += words;
    } while (--channels != 0);
    sink->pixel[0] = a;
    sink->pixel[1] = b;
    sink->pixel[2] = c;
    sink->pixel[3] = d;
}

/* A finish for blocks whose rule calls functions: it keeps fewer values alive across the calls,
 * because stacks are short. */
TILEWRIGHT_INLINE void short_block(struct tilewright_sink *sink, const int32_t *sums,
                                   const int32_t *rows, int32_t channels, const enum rule rule)
{
    do {
        for (int32_t i = 0; i < sink->pixels; i++) {
            uint8_t *at = sink->pixel[i];
            sink->pixel[i] = at + sink->channel_stride;
            store(at, *sums++, constants_of(rows, &sink->limits, rule), &sink->limits, rule);
        }
        rows += sink->row_words;
    } while (--channels != 0);
}

TILEWRIGHT_INLINE void line(const struct tilewright_limits *limits, const int32_t *restrict sums,
                            const int32_t *row, uint8_t *restrict out, int32_t stride,
                            int32_t count, const enum rule rule)
{
    const struct tilewright_limits copy = *limits;
    const struct constants constants = constants_of(row, &copy, rule);
    const int32_t *const end = sums + count;

    while (sums != end) {
        store(out, *sums++, constants, &copy, rule);
        out += stride;
    }
}

#define TILEWRIGHT_DEFINE_FINISH(name, rule)                                                       \
    void tilewright_block_##name(struct tilewright_sink *sink, const int32_t *sums,                \
                                 const int32_t *rows, int32_t channels)                            \
    {                                                                                              \
        if (rule == RULE_EXACT || rule == RULE_RESCALE) {                                          \
            short_block(sink, sums, rows, channels, rule);                                         \
        } else {                                                                                   \
            block(sink, sums, rows, channels, rule);                                               \
        }                                                                                          \
    }                                                                                              \
    void tilewright_line_##name(const struct tilewright_limits *limits, const int32_t *sums,       \
                                const int32_t *row, uint8_t *out, int32_t stride, int32_t count)   \
    {                                                                                              \
        line(limits, sums, row, out, stride, count, rule);                                         \
    }

#define TILEWRIGHT_DEFINE_RULE(name, rule, words, biased)                                          \
    TILEWRIGHT_DEFINE_FINISH(name, rule)                                                           \
    const struct tilewright_rule tilewright_rule_##name = {tilewright_block_##name, words,         \
                                                           biased};                                \
    const struct tilewright_line_rule tilewright_line_rule_##name = {tilewright_line_##name,       \
                                                                     words, biased};

TILEWRIGHT_DEFINE_FINISH(shift, RULE_SHIFT)
TILEWRIGHT_DEFINE_RULE(none, RULE_NONE, TILEWRIGHT_WORDS_NONE, 1)
TILEWRIGHT_DEFINE_RULE(folded, RULE_FOLDED, TILEWRIGHT_WORDS_FOLDED, 0)
TILEWRIGHT_DEFINE_RULE(high, RULE_HIGH, TILEWRIGHT_WORDS_HIGH, 1)
TILEWRIGHT_DEFINE_RULE(layer, RULE_LAYER, TILEWRIGHT_WORDS_LAYER, 1)
TILEWRIGHT_DEFINE_RULE(long, RULE_LONG, TILEWRIGHT_WORDS_LONG, 1)
TILEWRIGHT_DEFINE_RULE(even, RULE_EVEN, TILEWRIGHT_WORDS_EVEN, 1)
TILEWRIGHT_DEFINE_RULE(layer_even, RULE_LAYER_EVEN, TILEWRIGHT_WORDS_LAYER_EVEN, 1)
TILEWRIGHT_DEFINE_RULE(exact, RULE_EXACT, TILEWRIGHT_WORDS_EXACT, 1)
TILEWRIGHT_DEFINE_RULE(rescale, RULE_RESCALE, TILEWRIGHT_WORDS_RESCALE, 1)
TILEWRIGHT_DEFINE_RULE(twice, RULE_TWICE, TILEWRIGHT_WORDS_TWICE, 1)
TILEWRIGHT_DEFINE_RULE(twice_any, RULE_TWICE_ANY, TILEWRIGHT_WORDS_TWICE_ANY, 1)
TILEWRIGHT_DEFINE_FINISH(twice_half, RULE_TWICE_HALF)
TILEWRIGHT_DEFINE_FINISH(twice_word, RULE_TWICE_WORD)

void tilewright_open(struct tilewright_sink *sink, const struct tilewright_rule *rule,
                     int32_t channel_stride, int32_t pixels, const struct tilewright_view *partial,
                     uint32_t flags)
{
    static const int32_t zeros[TILEWRIGHT_BLOCK_SUMS];

    sink->channel_stride = channel_stride;
    sink->pixels = pixels;
    sink->row_words = rule->row_words;
    sink->start = rule->biased != 0 ? NULL : zeros;
    sink->sums = sink->block;
    sink->step = 0;
    sink->resumed = 0;
    if (flags == TILEWRIGHT_WHOLE) {
        return;
    }
    sink->sums = (int32_t *)(void *)partial->base;
    sink->step = TILEWRIGHT_BLOCK * pixels;
    if ((flags & TILEWRIGHT_FIRST) == 0) {
        sink->start = sink->sums;
        sink->resumed = 1;
    }
}
