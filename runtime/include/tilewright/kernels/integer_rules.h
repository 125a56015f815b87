/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that turn sums into stored elements by a rule (integer_core.h); each is inlined once
 * for each rule. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_INTEGER_RULES_H
#define TILEWRIGHT_KERNELS_INTEGER_RULES_H

#include "tilewright/kernels/integer_core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tilewright_rule_kind {
    TILEWRIGHT_RULE_NONE,
    TILEWRIGHT_RULE_SHIFT,
    TILEWRIGHT_RULE_FOLDED,
    TILEWRIGHT_RULE_HIGH,
    TILEWRIGHT_RULE_LAYER,
    TILEWRIGHT_RULE_LONG,
    TILEWRIGHT_RULE_EVEN,
    TILEWRIGHT_RULE_LAYER_EVEN,
    TILEWRIGHT_RULE_EXACT,
    TILEWRIGHT_RULE_RESCALE,
    TILEWRIGHT_RULE_AWAY,
    TILEWRIGHT_RULE_TWICE,
    TILEWRIGHT_RULE_TWICE_ANY,
    TILEWRIGHT_RULE_TWICE_HALF,
    TILEWRIGHT_RULE_TWICE_WORD
};

struct tilewright_constants {
    int32_t multiplier, addend, shift;
    int32_t left;
    int32_t raised;
    struct tilewright_even even;
};

TILEWRIGHT_INLINE struct tilewright_constants
tilewright_constants_of(const int32_t *row, const struct tilewright_limits *limits,
                        const enum tilewright_rule_kind rule)
{
    const int32_t of_layer = rule == TILEWRIGHT_RULE_LAYER || rule == TILEWRIGHT_RULE_LAYER_EVEN;
    struct tilewright_constants constants = {0, 0, 0, 0, 0, {0, 0, 0}};
    if (rule == TILEWRIGHT_RULE_FOLDED) {
        constants.multiplier = row[0];
        constants.addend = row[1];
        constants.shift = limits->shift;
    } else if (rule != TILEWRIGHT_RULE_NONE) {
        constants.multiplier = row[1];
    }
    if (rule != TILEWRIGHT_RULE_NONE && rule != TILEWRIGHT_RULE_FOLDED &&
        rule != TILEWRIGHT_RULE_RESCALE) {
        const int32_t shift = of_layer ? limits->shift : row[3];
        const int32_t addend = of_layer ? limits->addend : row[2];
        constants.addend = addend;
        constants.shift = shift;
        constants.left = shift >> 8 & 31;
        constants.raised = shift >> 8;
        constants.even.addend = addend;
        constants.even.shift = shift & 31;
        constants.even.odd = shift >> 16;
    }
    return constants;
}

TILEWRIGHT_INLINE int32_t tilewright_clamp_integer(int32_t value, int32_t minimum, int32_t maximum)
{
    if (value < minimum) {
        value = minimum;
    }
    if (value > maximum) {
        value = maximum;
    }
    return value;
}

TILEWRIGHT_INLINE float tilewright_rescaled(int32_t sum, int32_t bits,
                                            const struct tilewright_limits *limits)
{
    float value = (float)sum * tilewright_float_of(bits);
    if (value < tilewright_float_of(limits->minimum)) {
        value = tilewright_float_of(limits->minimum);
    }
    if (value > tilewright_float_of(limits->maximum)) {
        value = tilewright_float_of(limits->maximum);
    }
    return value;
}

TILEWRIGHT_INLINE int32_t tilewright_twice(int32_t sum, struct tilewright_constants constants,
                                           int32_t minimum, int32_t maximum)
{
    const int32_t high =
        tilewright_high_up((int32_t)((uint32_t)sum << constants.left), constants.multiplier);
    return tilewright_clamp_integer(
        tilewright_round_away(high, constants.even.shift) + constants.addend, minimum, maximum);
}

TILEWRIGHT_INLINE void tilewright_store_sum(uint8_t *out, int32_t sum,
                                            struct tilewright_constants constants,
                                            const struct tilewright_limits *limits,
                                            const enum tilewright_rule_kind rule)
{
    const int32_t minimum = limits->minimum;
    const int32_t maximum = limits->maximum;
    const int64_t product = (int64_t)sum * constants.multiplier;
    switch (rule) {
    case TILEWRIGHT_RULE_NONE:
        *(int32_t *)(void *)out = sum;
        break;
    case TILEWRIGHT_RULE_SHIFT:
        *out = (uint8_t)tilewright_clamp_integer(
            (sum * constants.multiplier + constants.addend) >> constants.shift, minimum, maximum);
        break;
    case TILEWRIGHT_RULE_FOLDED:
        *out = (uint8_t)tilewright_clamp_integer(
            (int32_t)((uint32_t)sum * (uint32_t)constants.multiplier +
                      (uint32_t)constants.addend) >>
                constants.shift,
            minimum, maximum);
        break;
    case TILEWRIGHT_RULE_HIGH:
    case TILEWRIGHT_RULE_LAYER:
        *out = (uint8_t)tilewright_clamp_integer(
            ((int32_t)(product >> 32) + constants.addend) >> constants.shift, minimum, maximum);
        break;
    case TILEWRIGHT_RULE_LONG:
        *out = (uint8_t)tilewright_limit(
            (product + constants.addend + (((int64_t)1 << constants.shift) >> 1)) >>
                constants.shift,
            minimum, maximum);
        break;
    case TILEWRIGHT_RULE_EVEN:
    case TILEWRIGHT_RULE_LAYER_EVEN:
        *out = (uint8_t)tilewright_clamp_integer(
            tilewright_round_high((int64_t)(int32_t)((uint32_t)sum << constants.left) *
                                      constants.multiplier,
                                  constants.even),
            minimum, maximum);
        break;
    case TILEWRIGHT_RULE_EXACT:
        *out = (uint8_t)tilewright_limit(
            tilewright_round_even(product, constants.shift) + constants.addend, minimum, maximum);
        break;
    case TILEWRIGHT_RULE_AWAY:
        *out = (uint8_t)tilewright_clamp_integer((tilewright_high_down(sum, constants.multiplier) -
                                                  (sum < constants.raised) + constants.addend) >>
                                                     constants.even.shift,
                                                 minimum, maximum);
        break;
    case TILEWRIGHT_RULE_TWICE: {
        /* An arithmetic shift rounds halves up; of negative numbers, less one, it rounds them down.
         */
        const int32_t high = tilewright_high_up(sum, constants.multiplier);
        *out = (uint8_t)tilewright_clamp_integer(
            (high + (high >> 31) + constants.addend) >> constants.shift, minimum, maximum);
        break;
    }
    case TILEWRIGHT_RULE_TWICE_ANY:
        *out = (uint8_t)tilewright_twice(sum, constants, minimum, maximum);
        break;
    case TILEWRIGHT_RULE_TWICE_HALF:
        *(int16_t *)(void *)out = (int16_t)tilewright_twice(sum, constants, minimum, maximum);
        break;
    case TILEWRIGHT_RULE_TWICE_WORD:
        *(int32_t *)(void *)out = tilewright_twice(sum, constants, minimum, maximum);
        break;
    case TILEWRIGHT_RULE_RESCALE:
        *(float *)(void *)out = tilewright_rescaled(sum, constants.multiplier, limits);
        break;
    }
}

#ifdef __cplusplus
}
#endif

#endif
