/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and means of integers over axes of the view. Operands: x; y, in which these axes have extent
 * 1; for means, scratch with one accumulator for each element of y: int32, int64 if x is int32. */
#ifndef TILEWRIGHT_KERNELS_REDUCE_INTEGER_H
#define TILEWRIGHT_KERNELS_REDUCE_INTEGER_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_sum_integer_attributes {
    int32_t x_type; /* as integer_line.h numbers them */
};

/* y is int32; what does not fit wraps. */
void tilewright_sum_integer(const struct tilewright_sum_integer_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags);

struct tilewright_mean_integer_attributes {
    int32_t x_type;
    int32_t count; /* elements of one sum */
    int32_t shift; /* its logarithm if it is a power of two, else -1 */
};
#define tilewright_mean_integer_wide_attributes tilewright_mean_integer_attributes

/* y has the type of x. Halves go up if the count is a power of two, else away from zero. The first
 * is for sums that fit 32 bits. */
void tilewright_mean_integer(const struct tilewright_mean_integer_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags);
void tilewright_mean_integer_wide(const struct tilewright_mean_integer_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
