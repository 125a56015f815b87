/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution of 8-bit tensors: one input and one output channel in each group.
 * Operands: x [n, c, h, w]; weights int8 [c][kernel]; constants [c][words of the rule]; y [n, c, h,
 * w]; scratch: the padded window of one channel, rounded up to words, then 4 bytes for each output
 * of a channel if those are at most 128, else for each row of y, 128 at least. */
#ifndef TILEWRIGHT_KERNELS_DEPTHWISE_INTEGER_H
#define TILEWRIGHT_KERNELS_DEPTHWISE_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_depthwise_integer_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t padding; /* the stored byte that stands for zero */
    int32_t flip;    /* 1: x is uint8 */
    int32_t minimum, maximum;
    float lowest, highest;
    int32_t addend, shift; /* of rules with one for the layer */
};

/* slide: 3x3 taps, rows not strided; stride: 3x3 taps; any: every kernel. The last word is the rule
 * that finishes sums (integer_core.h). */
#define TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(rule)                                                 \
    void tilewright_depthwise_slide_##rule(                                                        \
        const struct tilewright_depthwise_integer_attributes *attributes,                          \
        const struct tilewright_view *operands, uint32_t flags);                                   \
    void tilewright_depthwise_stride_##rule(                                                       \
        const struct tilewright_depthwise_integer_attributes *attributes,                          \
        const struct tilewright_view *operands, uint32_t flags);                                   \
    void tilewright_depthwise_any_##rule(                                                          \
        const struct tilewright_depthwise_integer_attributes *attributes,                          \
        const struct tilewright_view *operands, uint32_t flags)

TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(none);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(folded);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(high);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(layer);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(long);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(even);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(layer_even);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(exact);
TILEWRIGHT_DECLARE_DEPTHWISE_INTEGER(rescale);

#define tilewright_depthwise_slide_none_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_slide_folded_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_slide_high_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_slide_layer_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_slide_long_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_slide_even_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_slide_layer_even_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_slide_exact_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_slide_rescale_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_stride_none_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_stride_folded_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_stride_high_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_stride_layer_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_stride_long_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_stride_even_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_stride_layer_even_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_stride_exact_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_stride_rescale_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_any_none_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_any_folded_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_any_high_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_any_layer_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_any_long_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_any_even_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_any_layer_even_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_any_exact_attributes tilewright_depthwise_integer_attributes
#define tilewright_depthwise_any_rescale_attributes tilewright_depthwise_integer_attributes

#ifdef __cplusplus
}
#endif

#endif
