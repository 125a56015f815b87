/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of 8-bit elements by multipliers in two parts, an element at a time. */
#ifndef TILEWRIGHT_KERNELS_ADD_SPLIT_H
#define TILEWRIGHT_KERNELS_ADD_SPLIT_H

#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/integer_core.h"

#ifdef __cplusplus
extern "C" {
#endif

TILEWRIGHT_INLINE uint8_t tilewright_add_split_element(
    int32_t a, int32_t b, const struct tilewright_add_split_attributes *given)
{
    a ^= given->a_flip;
    b ^= given->b_flip;
    const int32_t low = a * given->a_multiplier[1] + b * given->b_multiplier[1] + given->addend[1];
    int32_t value = a * given->a_multiplier[0] + b * given->b_multiplier[0] + given->addend[0];
    value = (value + (low >> TILEWRIGHT_ADD_SPLIT_BELOW)) >> given->shift;
    if (value < given->minimum) {
        value = given->minimum;
    }
    if (value > given->maximum) {
        value = given->maximum;
    }
    return (uint8_t)value;
}

/* As a tilewright_row_body for a, b and y. */
static inline void
tilewright_add_split_elements(uint8_t *const *at, const int32_t *stride, int32_t count,
                              const struct tilewright_add_split_attributes *attributes)
{
    /* A copy stays in registers: the compiler knows that stores of bytes do not change it. */
    const struct tilewright_add_split_attributes given = *attributes;
    const int32_t stride_a = stride[0], stride_b = stride[1], stride_y = stride[2];
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];
    for (; count > 0; count--) {
        *y = tilewright_add_split_element(*a, *b, &given);
        a += stride_a;
        b += stride_b;
        y += stride_y;
    }
}

#ifdef __cplusplus
}
#endif

#endif
