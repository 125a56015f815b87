/* SPDX-License-Identifier: Apache-2.0 */
/* Add, Sub and Mul of 8-, 16- and 32-bit integers with broadcasting.
 * Operands: a, b, constants [1][4], y. All tensors have TILEWRIGHT_MAX_RANK axes, leading ones of
 * extent 1. */
#ifndef TILEWRIGHT_KERNELS_BINARY_INTEGER_H
#define TILEWRIGHT_KERNELS_BINARY_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types: 0 int8, 1 uint8, 2 int32, 3 int16, 4 uint16. */
struct tilewright_binary_integer_attributes {
    int32_t a_type, b_type;
    int32_t a_zero_point, b_zero_point;
    int32_t minimum, maximum;
    float lowest, highest;
};

/* y = limit(round half even of (((a - za) << left) * ma + ((b - zb) << left) * mb) / 2^(32 + shift)
 * + zero point), for 8-bit operands; multipliers may be negative. Operands: a, b, y. */
struct tilewright_add_rescaled_attributes {
    int32_t a_type, b_type;
    int32_t a_zero_point, b_zero_point;
    int32_t a_multiplier, b_multiplier;
    int32_t left;
    int32_t shift; /* from 1 to 30 */
    int32_t zero_point;
    int32_t minimum, maximum;
};

/* y = limit((((a ^ flip) + (b ^ flip)) * multiplier + addend) >> shift) for 8-bit operands, modulo
 * 2^32; an operand's flip is 128 for int8, 0 for uint8. Operands: a, b, y. */
struct tilewright_add_shifted_attributes {
    int32_t a_flip, b_flip;
    int32_t multiplier, addend, shift;
    int32_t minimum, maximum;
};

void tilewright_add_shifted(const struct tilewright_add_shifted_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags);

void tilewright_add_rescaled(const struct tilewright_add_rescaled_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags);

/* The symbol's last word is the rule that finishes sums (integer_core.h). */
#define TILEWRIGHT_DECLARE_BINARY_INTEGER(rule)                                                    \
    void tilewright_add_integer_##rule(                                                            \
        const struct tilewright_binary_integer_attributes *attributes,                             \
        const struct tilewright_view *operands, uint32_t flags);                                   \
    void tilewright_sub_integer_##rule(                                                            \
        const struct tilewright_binary_integer_attributes *attributes,                             \
        const struct tilewright_view *operands, uint32_t flags);                                   \
    void tilewright_mul_integer_##rule(                                                            \
        const struct tilewright_binary_integer_attributes *attributes,                             \
        const struct tilewright_view *operands, uint32_t flags)

TILEWRIGHT_DECLARE_BINARY_INTEGER(none);
TILEWRIGHT_DECLARE_BINARY_INTEGER(shift);
TILEWRIGHT_DECLARE_BINARY_INTEGER(high);
TILEWRIGHT_DECLARE_BINARY_INTEGER(long);
TILEWRIGHT_DECLARE_BINARY_INTEGER(even);
TILEWRIGHT_DECLARE_BINARY_INTEGER(exact);
TILEWRIGHT_DECLARE_BINARY_INTEGER(rescale);

#define tilewright_add_integer_none_attributes tilewright_binary_integer_attributes
#define tilewright_add_integer_shift_attributes tilewright_binary_integer_attributes
#define tilewright_add_integer_high_attributes tilewright_binary_integer_attributes
#define tilewright_add_integer_long_attributes tilewright_binary_integer_attributes
#define tilewright_add_integer_even_attributes tilewright_binary_integer_attributes
#define tilewright_add_integer_exact_attributes tilewright_binary_integer_attributes
#define tilewright_add_integer_rescale_attributes tilewright_binary_integer_attributes
#define tilewright_sub_integer_none_attributes tilewright_binary_integer_attributes
#define tilewright_sub_integer_shift_attributes tilewright_binary_integer_attributes
#define tilewright_sub_integer_high_attributes tilewright_binary_integer_attributes
#define tilewright_sub_integer_long_attributes tilewright_binary_integer_attributes
#define tilewright_sub_integer_even_attributes tilewright_binary_integer_attributes
#define tilewright_sub_integer_exact_attributes tilewright_binary_integer_attributes
#define tilewright_sub_integer_rescale_attributes tilewright_binary_integer_attributes
#define tilewright_mul_integer_none_attributes tilewright_binary_integer_attributes
#define tilewright_mul_integer_shift_attributes tilewright_binary_integer_attributes
#define tilewright_mul_integer_high_attributes tilewright_binary_integer_attributes
#define tilewright_mul_integer_long_attributes tilewright_binary_integer_attributes
#define tilewright_mul_integer_even_attributes tilewright_binary_integer_attributes
#define tilewright_mul_integer_exact_attributes tilewright_binary_integer_attributes
#define tilewright_mul_integer_rescale_attributes tilewright_binary_integer_attributes

#ifdef __cplusplus
}
#endif

#endif
