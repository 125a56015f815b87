/* SPDX-License-Identifier: Apache-2.0 */
/* iNoNorm: y = low byte of ((x * w + b) * multiplier) >> shift, with broadcasting.
 * Operands: x, w, b (int32), y (int8). */
#ifndef TILEWRIGHT_KERNELS_NO_NORM_INTEGER_H
#define TILEWRIGHT_KERNELS_NO_NORM_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_no_norm_integer_attributes {
    int32_t x_type, w_type; /* as integer_line.h numbers them */
    int32_t multiplier;
    int32_t shift;
};

void tilewright_no_norm_integer(const struct tilewright_no_norm_integer_attributes *attributes,
                                const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
