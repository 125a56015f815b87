/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of 8-bit tensors on cores with Xpulpv2: one input and one output channel in
 * each group, three rows of at most four taps. Operands: x [n, c, h, w]; weights int8 [c][3][4],
 * zeros behind the last tap of a row; constants [c][words of the rule]; y [n, c, h, w]; scratch:
 * the padded windows of four channels, their rows rounded up to words and one word longer, each
 * window two words longer; then 4 bytes for each row of y. */
#ifndef TILEWRIGHT_KERNELS_DEPTHWISE_XPULPV2_H
#define TILEWRIGHT_KERNELS_DEPTHWISE_XPULPV2_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_depthwise_xpulpv2_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2];     /* above and to the left */
    int32_t padding;     /* the stored byte that stands for zero */
    int32_t is_unsigned; /* 1: x is uint8 */
    int32_t minimum, maximum;
    float lowest, highest;
    int32_t addend, shift; /* of rules with one for the layer */
};

/* The symbol's last word is the rule that finishes sums (integer_core.h). */
#define TILEWRIGHT_DECLARE_DEPTHWISE_XPULPV2(rule)                                                 \
    void tilewright_depthwise_xpulpv2_##rule(                                                      \
        const struct tilewright_depthwise_xpulpv2_attributes *attributes,                          \
        const struct tilewright_view *operands, uint32_t flags)

TILEWRIGHT_DECLARE_DEPTHWISE_XPULPV2(none);
TILEWRIGHT_DECLARE_DEPTHWISE_XPULPV2(folded);
TILEWRIGHT_DECLARE_DEPTHWISE_XPULPV2(high);
TILEWRIGHT_DECLARE_DEPTHWISE_XPULPV2(layer);
TILEWRIGHT_DECLARE_DEPTHWISE_XPULPV2(long);
TILEWRIGHT_DECLARE_DEPTHWISE_XPULPV2(even);
TILEWRIGHT_DECLARE_DEPTHWISE_XPULPV2(layer_even);
TILEWRIGHT_DECLARE_DEPTHWISE_XPULPV2(exact);
TILEWRIGHT_DECLARE_DEPTHWISE_XPULPV2(rescale);

#define tilewright_depthwise_xpulpv2_none_attributes tilewright_depthwise_xpulpv2_attributes
#define tilewright_depthwise_xpulpv2_folded_attributes tilewright_depthwise_xpulpv2_attributes
#define tilewright_depthwise_xpulpv2_high_attributes tilewright_depthwise_xpulpv2_attributes
#define tilewright_depthwise_xpulpv2_layer_attributes tilewright_depthwise_xpulpv2_attributes
#define tilewright_depthwise_xpulpv2_long_attributes tilewright_depthwise_xpulpv2_attributes
#define tilewright_depthwise_xpulpv2_even_attributes tilewright_depthwise_xpulpv2_attributes
#define tilewright_depthwise_xpulpv2_layer_even_attributes tilewright_depthwise_xpulpv2_attributes
#define tilewright_depthwise_xpulpv2_exact_attributes tilewright_depthwise_xpulpv2_attributes
#define tilewright_depthwise_xpulpv2_rescale_attributes tilewright_depthwise_xpulpv2_attributes

#ifdef __cplusplus
}
#endif

#endif
