/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_MATMUL_VARIABLE_F32_H
#define TILEWRIGHT_KERNELS_MATMUL_VARIABLE_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_matmul_variable_f32_attributes {
    /* Whether the bias is among the operands. */
    int32_t has_bias;
    float minimum;
    float maximum;
};

/* As tilewright_matmul_f32 with any second factor. Operands: a[b0, b1, b2, b3, m, k];
 * b[b0, b1, b2, b3, k, n]; bias[n] if there is one; y[b0, b1, b2, b3, m, n]. Batch axes of extent 1
 * broadcast. */
void tilewright_matmul_variable_f32(
    const struct tilewright_matmul_variable_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
