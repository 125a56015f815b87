/* SPDX-License-Identifier: Apache-2.0 */
/* Operators along one axis, which is whole in every tile: one walker over all other axes, and a
 * function for each operator and element type, named by the generated attributes. */
#ifndef TILEWRIGHT_KERNELS_LINE_H
#define TILEWRIGHT_KERNELS_LINE_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handles one line: operand j has extent[j] elements from at[j] on, stride[j] bytes apart. */
typedef void (*tilewright_line_function)(uint8_t *const *at, const int32_t *stride,
                                         const int32_t *extent, const void *context);

struct tilewright_line_attributes {
    tilewright_line_function line;
    int32_t operands;
    int32_t axis;
    int32_t parameters[2];
};

/* Operands: reads, then writes, all with six axes that differ only along `axis`. */
void tilewright_line(const struct tilewright_line_attributes *attributes,
                     const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_LINE_NAMED(name)                                                                \
    void tilewright_line_##name(uint8_t *const *at, const int32_t *stride, const int32_t *extent,  \
                                const void *context);
#define TILEWRIGHT_LINE_SUMS(name)                                                                 \
    TILEWRIGHT_LINE_NAMED(name##_f32)                                                              \
    TILEWRIGHT_LINE_NAMED(name##_i32)                                                              \
    TILEWRIGHT_LINE_NAMED(name##_i64)

TILEWRIGHT_LINE_NAMED(log_softmax_f32)
TILEWRIGHT_LINE_NAMED(hardmax_f32)
TILEWRIGHT_LINE_NAMED(lp_normalization_f32) /* parameters: p */
TILEWRIGHT_LINE_SUMS(cum_sum)               /* parameters: exclusive, reverse */
TILEWRIGHT_LINE_SUMS(cum_prod)
TILEWRIGHT_LINE_SUMS(top_k) /* x, values, indices; parameters: largest */
TILEWRIGHT_LINE_NAMED(top_k_i8)
TILEWRIGHT_LINE_NAMED(top_k_u8)
TILEWRIGHT_LINE_NAMED(top_k_i16)
TILEWRIGHT_LINE_NAMED(top_k_u16)
TILEWRIGHT_LINE_NAMED(top_k_u32)

#ifdef __cplusplus
}
#endif

#endif
