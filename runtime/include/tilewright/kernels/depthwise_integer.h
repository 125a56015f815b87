/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of 8-bit tensors: one input and one output channel in each group.
 * Operands: x [n, c, h, w]; weights int8 [c][kernel]; constants [c][4]; y [n, c, h, w]; scratch:
 * the padded window of one channel, rounded up to words, then 4 bytes for each row of y. */
#ifndef TILEWRIGHT_KERNELS_DEPTHWISE_INTEGER_H
#define TILEWRIGHT_KERNELS_DEPTHWISE_INTEGER_H

#include "tilewright/runtime.h"

struct tilewright_depthwise_integer_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t padding; /* the stored byte that stands for zero */
    int32_t flip;    /* 1: x is uint8 */
    int32_t minimum, maximum;
    float lowest, highest;
};

/* The symbol's last word is the rule that finishes sums (integer_core.h). */
#define TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(rule)                                                   \
    void tilewright_depthwise_integer_##rule(const struct tilewright_depthwise_integer_attributes *attributes,\
                                             const struct tilewright_view *operands, uint32_t flags)

TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(none);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(shift);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(high);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(long);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(even);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(exact);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(rescale);

#define tilewright_depthwise_integer_none_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_integer_shift_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_integer_high_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_integer_long_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_integer_even_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_integer_exact_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_integer_rescale_attributes tilewright_depthwise_integer_attributes

#endif
