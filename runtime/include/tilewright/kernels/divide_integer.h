/* SPDX-License-Identifier: Apache-2.0 */
/* IntegerDiv: (numerator * a) / (eta * b + epsilon) to the nearest integer, halves away from zero,
 * with broadcasting; 0 where the divisor is 0. Operands: a, b, y (int32). */
#ifndef TILEWRIGHT_KERNELS_DIVIDE_INTEGER_H
#define TILEWRIGHT_KERNELS_DIVIDE_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_divide_integer_attributes {
    int32_t a_type, b_type; /* as integer_line.h numbers them */
    uint32_t numerator[2];  /* low word, high word */
    int32_t eta, epsilon;
};

void tilewright_divide_integer(const struct tilewright_divide_integer_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
