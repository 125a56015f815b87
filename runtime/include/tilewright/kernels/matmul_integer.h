/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two 8-bit matrices that are computed at run time, with up to two batch axes.
 * Operands: a [b0, b1, m, k]; b [b0, b1, k, n]; constants [n][4]; y [b0, b1, m, n]; scratch:
 * 4 * k bytes for four rows of a, 8 * k for four columns of b, 64 for their constants.
 * Partial results, where k is cut: 64 bytes for 4 rows by 4 columns. */
#ifndef TILEWRIGHT_KERNELS_MATMUL_INTEGER_H
#define TILEWRIGHT_KERNELS_MATMUL_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_matmul_integer_attributes {
    int32_t a_zero_point; /* of int8: less 128 if a is uint8 */
    int32_t a_flip;       /* 1: a is uint8 */
    int32_t b_zero_point; /* in b's own type */
    int32_t b_unsigned;   /* 1: b is uint8 */
    int32_t minimum, maximum;
    float lowest, highest;
};

/* The symbol's last word is the rule that finishes sums (integer_core.h). */
#define TILEWRIGHT_DECLARE_MATMUL_INTEGER(rule)                                                    \
    void tilewright_matmul_integer_##rule(                                                         \
        const struct tilewright_matmul_integer_attributes *attributes,                             \
        const struct tilewright_view *operands, uint32_t flags)

TILEWRIGHT_DECLARE_MATMUL_INTEGER(none);
TILEWRIGHT_DECLARE_MATMUL_INTEGER(shift);
TILEWRIGHT_DECLARE_MATMUL_INTEGER(high);
TILEWRIGHT_DECLARE_MATMUL_INTEGER(long);
TILEWRIGHT_DECLARE_MATMUL_INTEGER(even);
TILEWRIGHT_DECLARE_MATMUL_INTEGER(exact);
TILEWRIGHT_DECLARE_MATMUL_INTEGER(rescale);

#define tilewright_matmul_integer_none_attributes tilewright_matmul_integer_attributes
#define tilewright_matmul_integer_shift_attributes tilewright_matmul_integer_attributes
#define tilewright_matmul_integer_high_attributes tilewright_matmul_integer_attributes
#define tilewright_matmul_integer_long_attributes tilewright_matmul_integer_attributes
#define tilewright_matmul_integer_even_attributes tilewright_matmul_integer_attributes
#define tilewright_matmul_integer_exact_attributes tilewright_matmul_integer_attributes
#define tilewright_matmul_integer_rescale_attributes tilewright_matmul_integer_attributes

#ifdef __cplusplus
}
#endif

#endif
