/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of 8-bit tensors, any strides, dilations, pads and groups.
 * Operands: x [n, c, h, w]; weights [group][block][kh][kw][c][4]; constants [group][channel][words
 * of the rule]; y [n, c, h, w]; scratch: 4 bytes for each tap, then a row of kernel[1] * c bytes of
 * padding, each rounded up to words. Partial results, where channels of the only group are cut: 64
 * bytes for 4 pixels of 4 channels. */
#ifndef TILEWRIGHT_KERNELS_CONV_INTEGER_H
#define TILEWRIGHT_KERNELS_CONV_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_conv_integer_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2];       /* above and to the left */
    int32_t group_inputs;  /* channels of x in one group */
    int32_t group_outputs; /* channels of y in one group */
    int32_t padding;       /* the stored byte that stands for zero */
    int32_t flip;          /* 1: x is uint8 */
    int32_t minimum, maximum;
    float lowest, highest;
    int32_t addend, shift; /* of rules with one for the layer */
};

/* The symbol's last word is the rule that finishes sums (integer_core.h); wide: int16 weights. */
#define TILEWRIGHT_DECLARE_CONV(rule)                                                              \
    void tilewright_conv_integer_##rule(                                                           \
        const struct tilewright_conv_integer_attributes *attributes,                               \
        const struct tilewright_view *operands, uint32_t flags);                                   \
    void tilewright_conv_wide_##rule(const struct tilewright_conv_integer_attributes *attributes,  \
                                     const struct tilewright_view *operands, uint32_t flags)

TILEWRIGHT_DECLARE_CONV(none);
TILEWRIGHT_DECLARE_CONV(folded);
TILEWRIGHT_DECLARE_CONV(high);
TILEWRIGHT_DECLARE_CONV(layer);
TILEWRIGHT_DECLARE_CONV(long);
TILEWRIGHT_DECLARE_CONV(even);
TILEWRIGHT_DECLARE_CONV(layer_even);
TILEWRIGHT_DECLARE_CONV(exact);
TILEWRIGHT_DECLARE_CONV(rescale);

#define tilewright_conv_integer_none_attributes tilewright_conv_integer_attributes
#define tilewright_conv_integer_folded_attributes tilewright_conv_integer_attributes
#define tilewright_conv_integer_high_attributes tilewright_conv_integer_attributes
#define tilewright_conv_integer_layer_attributes tilewright_conv_integer_attributes
#define tilewright_conv_integer_long_attributes tilewright_conv_integer_attributes
#define tilewright_conv_integer_even_attributes tilewright_conv_integer_attributes
#define tilewright_conv_integer_layer_even_attributes tilewright_conv_integer_attributes
#define tilewright_conv_integer_exact_attributes tilewright_conv_integer_attributes
#define tilewright_conv_integer_rescale_attributes tilewright_conv_integer_attributes
#define tilewright_conv_wide_none_attributes tilewright_conv_integer_attributes
#define tilewright_conv_wide_folded_attributes tilewright_conv_integer_attributes
#define tilewright_conv_wide_high_attributes tilewright_conv_integer_attributes
#define tilewright_conv_wide_layer_attributes tilewright_conv_integer_attributes
#define tilewright_conv_wide_long_attributes tilewright_conv_integer_attributes
#define tilewright_conv_wide_even_attributes tilewright_conv_integer_attributes
#define tilewright_conv_wide_layer_even_attributes tilewright_conv_integer_attributes
#define tilewright_conv_wide_exact_attributes tilewright_conv_integer_attributes
#define tilewright_conv_wide_rescale_attributes tilewright_conv_integer_attributes

#ifdef __cplusplus
}
#endif

#endif
