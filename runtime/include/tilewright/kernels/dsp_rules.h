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

/* Finishes and stores a sum by rule folded, layer or high; `known`: what the limits are. */
TILEWRIGHT_INLINE void tilewright_dsp_store(uint8_t *at, int32_t sum,
                                            struct tilewright_constants constants,
                                            const struct tilewright_limits *limits,
                                            const enum tilewright_rule_kind rule,
                                            const enum tilewright_dsp_limits known)
{
    if (known == TILEWRIGHT_DSP_ANY) {
        tilewright_store_sum(at, sum, constants, limits, rule);
        return;
    }
    int32_t value;
    if (rule == TILEWRIGHT_RULE_FOLDED) {
        value =
            (int32_t)((uint32_t)sum * (uint32_t)constants.multiplier + (uint32_t)constants.addend);
    } else {
        value = tilewright_dsp_upper(sum, constants.multiplier, constants.addend);
    }
    value >>= constants.shift;
    *at = (uint8_t)(known == TILEWRIGHT_DSP_SIGNED ? tilewright_dsp_saturated(value)
                                                   : tilewright_dsp_saturated_unsigned(value));
}

#ifdef __cplusplus
}
#endif

#endif
