/* SPDX-License-Identifier: Apache-2.0 */
/* Integer elements, finished one by one with per-channel constants.
 * Operands: x, constants [channel][4], y. */
#ifndef TILEWRIGHT_KERNELS_REQUANTIZE_H
#define TILEWRIGHT_KERNELS_REQUANTIZE_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_requantize_attributes {
    int32_t x_type;       /* as in binary_integer.h: 0 int8, 1 uint8, 2 int32, 3 int16, 4 uint16 */
    int32_t channel_axis; /* of the view; -1: one row of constants for all */
    int32_t minimum, maximum;
    float lowest, highest;
};

/* The symbol's last word is the rule that finishes sums (integer_core.h). */
#define TILEWRIGHT_DECLARE_REQUANTIZE(rule)                                                        \
    void tilewright_requantize_##rule(const struct tilewright_requantize_attributes *attributes,   \
                                      const struct tilewright_view *operands, uint32_t flags)

TILEWRIGHT_DECLARE_REQUANTIZE(none);
TILEWRIGHT_DECLARE_REQUANTIZE(shift);
TILEWRIGHT_DECLARE_REQUANTIZE(high);
TILEWRIGHT_DECLARE_REQUANTIZE(long);
TILEWRIGHT_DECLARE_REQUANTIZE(even);
TILEWRIGHT_DECLARE_REQUANTIZE(exact);
TILEWRIGHT_DECLARE_REQUANTIZE(rescale);

#define tilewright_requantize_none_attributes tilewright_requantize_attributes
#define tilewright_requantize_shift_attributes tilewright_requantize_attributes
#define tilewright_requantize_high_attributes tilewright_requantize_attributes
#define tilewright_requantize_long_attributes tilewright_requantize_attributes
#define tilewright_requantize_even_attributes tilewright_requantize_attributes
#define tilewright_requantize_exact_attributes tilewright_requantize_attributes
#define tilewright_requantize_rescale_attributes tilewright_requantize_attributes

#ifdef __cplusplus
}
#endif

#endif
