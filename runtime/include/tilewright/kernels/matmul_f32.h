/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_MATMUL_F32_H
#define TILEWRIGHT_KERNELS_MATMUL_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_matmul_f32_attributes {
    float minimum;
    float maximum;
};

/* y[b..., m, n] = clamp(bias[n] + sum over k of a[b..., m, k] * weights[k, n]). Operands:
 * a[b0, b1, b2, b3, m, k]; weights [n / 4][k][4] and biases [n / 4][4], zeros behind the last
 * column; y[b0, b1, b2, b3, m, n]. Partial results, where k is cut: 16 bytes for 4 columns of a
 * row. A tile's columns begin at a multiple of 4. */
void tilewright_matmul_f32(const struct tilewright_matmul_f32_attributes *attributes,
                           const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
