/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of 8-bit tensors. Operands: x [n, c, h, w]; y [n, c, h, w]. */
#ifndef TILEWRIGHT_KERNELS_POOL_INTEGER_H
#define TILEWRIGHT_KERNELS_POOL_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_max_pool_integer_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2];
    int32_t is_unsigned; /* 1: x and y are uint8 */
};

struct tilewright_average_pool_integer_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2];     /* above and to the left */
    int32_t counted[4];  /* taps count in rows [0] to [1] and columns [2] to [3], ends excluded */
    int32_t is_unsigned; /* 1: x is uint8 */
    int32_t x_zero_point;
    /* y = round half even of (sum << left) * multiplier / 2^(32 + shift) / taps, + zero point */
    int32_t multiplier, left, shift;
    int32_t zero_point;
    int32_t minimum, maximum;
};

void tilewright_max_pool_integer(const struct tilewright_max_pool_integer_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags);
void tilewright_average_pool_integer(
    const struct tilewright_average_pool_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
