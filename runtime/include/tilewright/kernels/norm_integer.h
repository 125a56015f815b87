/* SPDX-License-Identifier: Apache-2.0 */
/* iLayerNorm and iRMSNorm: integers normalised over the last axis of the view.
 * Operands: x (8 or 16 bits); w and, for iLayerNorm, b, int32 along the last axis; y, int8. */
#ifndef TILEWRIGHT_KERNELS_NORM_INTEGER_H
#define TILEWRIGHT_KERNELS_NORM_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_norm_integer_attributes {
    int32_t x_type; /* as integer_line.h numbers them */
    int32_t shift;
    int32_t wide; /* 0: products with w, with b added, fit 32 bits */
};
#define tilewright_layer_norm_integer_attributes tilewright_norm_integer_attributes
#define tilewright_rms_norm_integer_attributes tilewright_norm_integer_attributes

/* c = x - mean, sd = floor(sqrt(mean of c^2 + 1)), y = low byte of (c * w / sd + b) >> shift;
 * quotients truncate towards zero. */
void tilewright_layer_norm_integer(const struct tilewright_norm_integer_attributes *attributes,
                                   const struct tilewright_view *operands, uint32_t flags);

/* sd = floor(sqrt(mean of x^2 + 1)), y = (x * w / sd) >> shift, clipped to int8. */
void tilewright_rms_norm_integer(const struct tilewright_norm_integer_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
