/* SPDX-License-Identifier: Apache-2.0 */
/* Macros that define kernels of cumulative sums and products along a line. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_LINE_CUMULATIVE_H
#define TILEWRIGHT_KERNELS_LINE_CUMULATIVE_H

#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/map_rows.h"

/* Element i of y combines `start` and elements 0 to i of x by `operation`, in type U. Parameters:
 * [0] exclusive leaves element i of x out, [1] reverse goes from the last element to element i. */
#define TILEWRIGHT_CUMULATIVE(name, T, U, start, operation)                                        \
    void tilewright_line_##name(uint8_t *const *at, const int32_t *stride, const int32_t *extent,  \
                                const void *context)                                               \
    {                                                                                              \
        const int32_t *parameters =                                                                \
            ((const struct tilewright_line_attributes *)context)->parameters;                      \
        U total = (start);                                                                         \
        for (int32_t i = 0; i < extent[0]; i++) {                                                  \
            const int32_t k = parameters[1] != 0 ? extent[0] - 1 - i : i;                          \
            const T x = TILEWRIGHT_ELEMENT(T, at[0] + (ptrdiff_t)k * stride[0]);                   \
            T *y = (T *)(void *)(at[1] + (ptrdiff_t)k * stride[1]);                                \
            const U next = total operation(U) x;                                                   \
            *y = (T)(parameters[0] != 0 ? total : next);                                           \
            total = next;                                                                          \
        }                                                                                          \
    }
#define TILEWRIGHT_CUMULATIVES(name, start, operation)                                             \
    TILEWRIGHT_CUMULATIVE(name##_f32, float, float, start, operation)                              \
    TILEWRIGHT_CUMULATIVE(name##_i32, int32_t, uint32_t, start, operation)                         \
    TILEWRIGHT_CUMULATIVE(name##_i64, int64_t, uint64_t, start, operation)

#endif
