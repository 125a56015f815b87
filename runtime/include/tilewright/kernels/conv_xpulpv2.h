/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of 8-bit tensors on cores with Xpulpv2, any strides, dilations, pads and groups.
 * Operands: x [n, c, h, w]; weights int8 [group][block][word][4 channels][4 taps], where words are
 * those of [kh][kw][c], or of [c][kh][kw] whose last row is read in whole words; constants
 * [group][channel][words of the rule]; y [n, c, h, w]; scratch: TILEWRIGHT_XPULPV2_TAPS_BYTES; 5
 * pointers, for each tap if direct, and one for each row of the kernel; padding, if there is any,
 * in whole words, for a row of the kernel, or one tap if neither direct nor planar; unless direct,
 * all taps of 4 pixels in whole words each, planar up to 4 times as far as 448 bytes hold them.
 * Partial results, where channels of the only group are cut: 64 bytes for 4 pixels of 4 channels.
 */
#ifndef TILEWRIGHT_KERNELS_CONV_XPULPV2_H
#define TILEWRIGHT_KERNELS_CONV_XPULPV2_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_conv_xpulpv2_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2];       /* above and to the left */
    int32_t group_inputs;  /* channels of x in one group */
    int32_t group_outputs; /* channels of y in one group */
    int32_t padding;       /* the stored byte that stands for zero; -1: taps never leave x */
    int32_t is_unsigned;   /* 1: x is uint8 */
    int32_t is_planar;     /* 1: weights are [c][kh][kw]; columns of x lie side by side */
    int32_t is_direct;     /* 1: c is a multiple of 4 and its elements lie side by side in x */
    int32_t minimum, maximum;
    float lowest, highest;
    int32_t addend, shift; /* of rules with one for the layer */
};

/* The symbol's last word is the rule that finishes sums (integer_core.h). */
#define TILEWRIGHT_DECLARE_CONV_XPULPV2(rule)                                                      \
    void tilewright_conv_xpulpv2_##rule(                                                           \
        const struct tilewright_conv_xpulpv2_attributes *attributes,                               \
        const struct tilewright_view *operands, uint32_t flags)

TILEWRIGHT_DECLARE_CONV_XPULPV2(none);
TILEWRIGHT_DECLARE_CONV_XPULPV2(folded);
TILEWRIGHT_DECLARE_CONV_XPULPV2(high);
TILEWRIGHT_DECLARE_CONV_XPULPV2(layer);
TILEWRIGHT_DECLARE_CONV_XPULPV2(long);
TILEWRIGHT_DECLARE_CONV_XPULPV2(even);
TILEWRIGHT_DECLARE_CONV_XPULPV2(layer_even);
TILEWRIGHT_DECLARE_CONV_XPULPV2(exact);
TILEWRIGHT_DECLARE_CONV_XPULPV2(rescale);

#define tilewright_conv_xpulpv2_none_attributes tilewright_conv_xpulpv2_attributes
#define tilewright_conv_xpulpv2_folded_attributes tilewright_conv_xpulpv2_attributes
#define tilewright_conv_xpulpv2_high_attributes tilewright_conv_xpulpv2_attributes
#define tilewright_conv_xpulpv2_layer_attributes tilewright_conv_xpulpv2_attributes
#define tilewright_conv_xpulpv2_long_attributes tilewright_conv_xpulpv2_attributes
#define tilewright_conv_xpulpv2_even_attributes tilewright_conv_xpulpv2_attributes
#define tilewright_conv_xpulpv2_layer_even_attributes tilewright_conv_xpulpv2_attributes
#define tilewright_conv_xpulpv2_exact_attributes tilewright_conv_xpulpv2_attributes
#define tilewright_conv_xpulpv2_rescale_attributes tilewright_conv_xpulpv2_attributes

#ifdef __cplusplus
}
#endif

#endif
