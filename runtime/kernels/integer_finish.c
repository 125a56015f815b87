/* SPDX-License-Identifier: Apache-2.0 */
/* Finishes: functions that turn sums into stored elements. Each rule has two, one for blocks and
 * one for lines, so that a program contains only the functions that its layers call. */
#include "tilewright/kernels/dsp_rules.h"

TILEWRIGHT_INLINE void block(struct tilewright_sink *sink, const int32_t *restrict sums,
                             const int32_t *restrict rows, int32_t channels,
                             const enum tilewright_rule_kind rule)
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
        const struct tilewright_constants constants = tilewright_constants_of(rows, &limits, rule);
        tilewright_store_sum(a, sums[0], constants, &limits, rule);
        a += stride;
        if (pixels != 1) {
            tilewright_store_sum(b, sums[1], constants, &limits, rule);
            tilewright_store_sum(c, sums[2], constants, &limits, rule);
            tilewright_store_sum(d, sums[3], constants, &limits, rule);
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
                                   const int32_t *rows, int32_t channels,
                                   const enum tilewright_rule_kind rule)
{
    do {
        for (int32_t i = 0; i < sink->pixels; i++) {
            uint8_t *at = sink->pixel[i];
            sink->pixel[i] = at + sink->channel_stride;
            tilewright_store_sum(at, *sums++, tilewright_constants_of(rows, &sink->limits, rule),
                                 &sink->limits, rule);
        }
        rows += sink->row_words;
    } while (--channels != 0);
}

TILEWRIGHT_INLINE void line(const struct tilewright_limits *limits, const int32_t *restrict sums,
                            const int32_t *row, uint8_t *restrict out, int32_t stride,
                            int32_t count, const enum tilewright_rule_kind rule)
{
    const struct tilewright_limits copy = *limits;
    const struct tilewright_constants constants = tilewright_constants_of(row, &copy, rule);
    const int32_t *const end = sums + count;

#if defined(__ARM_FEATURE_SAT)
    const enum tilewright_dsp_limits known = tilewright_dsp_limits_of(&copy);
    const int32_t is_short = rule == TILEWRIGHT_RULE_FOLDED || rule == TILEWRIGHT_RULE_LAYER ||
                             rule == TILEWRIGHT_RULE_HIGH || rule == TILEWRIGHT_RULE_AWAY ||
                             rule == TILEWRIGHT_RULE_TWICE;
    if (is_short != 0 && known == TILEWRIGHT_DSP_SIGNED) {
        while (sums != end) {
            tilewright_dsp_store(out, *sums++, constants, &copy, rule, TILEWRIGHT_DSP_SIGNED);
            out += stride;
        }
        return;
    }
    if (is_short != 0 && known == TILEWRIGHT_DSP_UNSIGNED) {
        while (sums != end) {
            tilewright_dsp_store(out, *sums++, constants, &copy, rule, TILEWRIGHT_DSP_UNSIGNED);
            out += stride;
        }
        return;
    }
#endif
    while (sums != end) {
        tilewright_store_sum(out, *sums++, constants, &copy, rule);
        out += stride;
    }
}

#define TILEWRIGHT_DEFINE_FINISH(name, rule)                                                       \
    void tilewright_block_##name(struct tilewright_sink *sink, const int32_t *sums,                \
                                 const int32_t *rows, int32_t channels)                            \
    {                                                                                              \
        if (rule == TILEWRIGHT_RULE_EXACT || rule == TILEWRIGHT_RULE_RESCALE) {                    \
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

TILEWRIGHT_DEFINE_FINISH(shift, TILEWRIGHT_RULE_SHIFT)
TILEWRIGHT_DEFINE_RULE(none, TILEWRIGHT_RULE_NONE, TILEWRIGHT_WORDS_NONE, 1)
TILEWRIGHT_DEFINE_RULE(folded, TILEWRIGHT_RULE_FOLDED, TILEWRIGHT_WORDS_FOLDED, 0)
TILEWRIGHT_DEFINE_RULE(high, TILEWRIGHT_RULE_HIGH, TILEWRIGHT_WORDS_HIGH, 1)
TILEWRIGHT_DEFINE_RULE(layer, TILEWRIGHT_RULE_LAYER, TILEWRIGHT_WORDS_LAYER, 1)
TILEWRIGHT_DEFINE_RULE(long, TILEWRIGHT_RULE_LONG, TILEWRIGHT_WORDS_LONG, 1)
TILEWRIGHT_DEFINE_RULE(even, TILEWRIGHT_RULE_EVEN, TILEWRIGHT_WORDS_EVEN, 1)
TILEWRIGHT_DEFINE_RULE(layer_even, TILEWRIGHT_RULE_LAYER_EVEN, TILEWRIGHT_WORDS_LAYER_EVEN, 1)
TILEWRIGHT_DEFINE_RULE(exact, TILEWRIGHT_RULE_EXACT, TILEWRIGHT_WORDS_EXACT, 1)
TILEWRIGHT_DEFINE_RULE(rescale, TILEWRIGHT_RULE_RESCALE, TILEWRIGHT_WORDS_RESCALE, 1)
TILEWRIGHT_DEFINE_RULE(away, TILEWRIGHT_RULE_AWAY, TILEWRIGHT_WORDS_AWAY, 1)
TILEWRIGHT_DEFINE_RULE(twice, TILEWRIGHT_RULE_TWICE, TILEWRIGHT_WORDS_TWICE, 1)
TILEWRIGHT_DEFINE_RULE(twice_any, TILEWRIGHT_RULE_TWICE_ANY, TILEWRIGHT_WORDS_TWICE_ANY, 1)
TILEWRIGHT_DEFINE_FINISH(twice_half, TILEWRIGHT_RULE_TWICE_HALF)
TILEWRIGHT_DEFINE_FINISH(twice_word, TILEWRIGHT_RULE_TWICE_WORD)

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
