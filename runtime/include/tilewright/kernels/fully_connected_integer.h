/* SPDX-License-Identifier: Apache-2.0 */
/* Products of 8-bit vectors with a constant matrix: y[row, n] = bias[n] + sum x[row, k] * w[n, k].
 * Operands: x [row, k]; weights int8 [block][k][4]; constants [n][words of the rule]; y [row, n].
 * No scratch. Partial results, where k is cut: 16 bytes for 4 channels of a row. */
#ifndef TILEWRIGHT_KERNELS_FULLY_CONNECTED_INTEGER_H
#define TILEWRIGHT_KERNELS_FULLY_CONNECTED_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_fully_connected_integer_attributes {
    int32_t minimum, maximum;
    float lowest, highest;
    int32_t addend, shift; /* of rules with one for the layer */
};

/* For int8 and for uint8 x; the last word is the rule that finishes sums (integer_core.h). */
#define TILEWRIGHT_DECLARE_FULLY_CONNECTED_INTEGER(rule)                                           \
    void tilewright_fully_connected_integer_##rule(                                                \
        const struct tilewright_fully_connected_integer_attributes *attributes,                    \
        const struct tilewright_view *operands, uint32_t flags);                                   \
    void tilewright_fully_connected_unsigned_##rule(                                               \
        const struct tilewright_fully_connected_integer_attributes *attributes,                    \
        const struct tilewright_view *operands, uint32_t flags)

TILEWRIGHT_DECLARE_FULLY_CONNECTED_INTEGER(none);
TILEWRIGHT_DECLARE_FULLY_CONNECTED_INTEGER(folded);
TILEWRIGHT_DECLARE_FULLY_CONNECTED_INTEGER(high);
TILEWRIGHT_DECLARE_FULLY_CONNECTED_INTEGER(layer);
TILEWRIGHT_DECLARE_FULLY_CONNECTED_INTEGER(long);
TILEWRIGHT_DECLARE_FULLY_CONNECTED_INTEGER(even);
TILEWRIGHT_DECLARE_FULLY_CONNECTED_INTEGER(layer_even);
TILEWRIGHT_DECLARE_FULLY_CONNECTED_INTEGER(exact);
TILEWRIGHT_DECLARE_FULLY_CONNECTED_INTEGER(rescale);

#define tilewright_fully_connected_integer_none_attributes                                         \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_integer_folded_attributes                                       \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_integer_high_attributes                                         \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_integer_layer_attributes                                        \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_integer_long_attributes                                         \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_integer_even_attributes                                         \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_integer_layer_even_attributes                                   \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_integer_exact_attributes                                        \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_integer_rescale_attributes                                      \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_unsigned_none_attributes                                        \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_unsigned_folded_attributes                                      \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_unsigned_high_attributes                                        \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_unsigned_layer_attributes                                       \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_unsigned_long_attributes                                        \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_unsigned_even_attributes                                        \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_unsigned_layer_even_attributes                                  \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_unsigned_exact_attributes                                       \
    tilewright_fully_connected_integer_attributes
#define tilewright_fully_connected_unsigned_rescale_attributes                                     \
    tilewright_fully_connected_integer_attributes

#ifdef __cplusplus
}
#endif

#endif
