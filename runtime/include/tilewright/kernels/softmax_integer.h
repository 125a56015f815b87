/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax of 8-bit tensors along one axis, requantised.
 * Operands: x; table of exp(-scale * d) for d = 0 ... 255, float32; y. */
#ifndef TILEWRIGHT_KERNELS_SOFTMAX_INTEGER_H
#define TILEWRIGHT_KERNELS_SOFTMAX_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_softmax_integer_attributes {
    int32_t axis;        /* of the view */
    int32_t is_unsigned; /* 1: x is uint8 */
    float multiplier;    /* y = round half even of probability * multiplier, + zero point */
    int32_t zero_point;
    int32_t minimum, maximum;
};

void tilewright_softmax_integer(const struct tilewright_softmax_integer_attributes *attributes,
                                const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
