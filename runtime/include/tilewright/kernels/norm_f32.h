/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization and RMSNormalization over the last axis of the view.
 * Operands: x; scale and, if `biased`, bias along the last axis; y. */
#ifndef TILEWRIGHT_KERNELS_NORM_F32_H
#define TILEWRIGHT_KERNELS_NORM_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_norm_f32_attributes {
    float epsilon;
    int32_t biased;
};
#define tilewright_layer_norm_f32_attributes tilewright_norm_f32_attributes
#define tilewright_rms_norm_f32_attributes tilewright_norm_f32_attributes

/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias */
void tilewright_layer_norm_f32(const struct tilewright_layer_norm_f32_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags);

/* y = x / sqrt(mean of squares + epsilon) * scale */
void tilewright_rms_norm_f32(const struct tilewright_rms_norm_f32_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
