/* SPDX-License-Identifier: Apache-2.0 */
/* Rules with the DSP instructions of Armv7E-M and Armv8-M. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_DSP_RULES_H
#define TILEWRIGHT_KERNELS_DSP_RULES_H

#include "tilewright/kernels/dsp.h"
#include "tilewright/kernels/integer_rules.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which limits of a layer an instruction knows. */
enum tilewright_dsp_limits {
    TILEWRIGHT_DSP_ANY,
    TILEWRIGHT_DSP_SIGNED,  /* those of int8 */
    TILEWRIGHT_DSP_UNSIGNED /* those of uint8 */
};

TILEWRIGHT_INLINE enum tilewright_dsp_limits
tilewright_dsp_limits_of(const struct tilewright_limits *limits)
{
    if (limits->minimum == INT8_MIN && limits->maximum == INT8_MAX) {
        return TILEWRIGHT_DSP_SIGNED;
    }
    return limits->minimum == 0 && limits->maximum == UINT8_MAX ? TILEWRIGHT_DSP_UNSIGNED
                                                                : TILEWRIGHT_DSP_ANY;
}

/* The element of a sum by rule folded, layer, high, away or twice, before the clamp. Unsigned
 * multipliers are taken as signed ones; of those of 2^31 and more the product lacks sum * 2^32. */
TILEWRIGHT_INLINE int32_t tilewright_dsp_element(int32_t sum, struct tilewright_constants constants,
                                                 const enum tilewright_rule_kind rule)
{
    const int32_t multiplier = constants.multiplier, addend = constants.addend;
    if (rule == TILEWRIGHT_RULE_FOLDED) {
        return (int32_t)((uint32_t)sum * (uint32_t)multiplier + (uint32_t)addend) >>
               constants.shift;
    }
    if (rule == TILEWRIGHT_RULE_AWAY) {
        const int32_t high =
            tilewright_dsp_upper(sum, multiplier, addend) + (sum & multiplier >> 31);
        return (high - (sum < constants.raised)) >> constants.even.shift;
    }
    if (rule == TILEWRIGHT_RULE_TWICE) {
        const int32_t high =
            tilewright_dsp_upper_rounded(sum, multiplier) + (sum & multiplier >> 31);
        return (high + (high >> 31) + addend) >> constants.shift;
    }
    return tilewright_dsp_upper(sum, multiplier, addend) >> constants.shift;
}

/* Finishes and stores a sum by such a rule; `known`: what the limits are. */
TILEWRIGHT_INLINE void tilewright_dsp_store(uint8_t *at, int32_t sum,
                                            struct tilewright_constants constants,
                                            const struct tilewright_limits *limits,
                                            const enum tilewright_rule_kind rule,
                                            const enum tilewright_dsp_limits known)
{
#if !defined(__ARM_FEATURE_DSP)
    /* Without the instructions the store of all cores is shorter. */
    if (known == TILEWRIGHT_DSP_ANY) {
        tilewright_store_sum(at, sum, constants, limits, rule);
        return;
    }
#endif
    const int32_t value = tilewright_dsp_element(sum, constants, rule);
    *at = (uint8_t)(known == TILEWRIGHT_DSP_SIGNED ? tilewright_dsp_saturated(value)
                    : known == TILEWRIGHT_DSP_UNSIGNED
                        ? tilewright_dsp_saturated_unsigned(value)
                        : tilewright_clamp_integer(value, limits->minimum, limits->maximum));
}

#ifdef __cplusplus
}
#endif

#endif
