/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/line.h"
#include "tilewright/kernels/map_rows.h"

/* Running results; exclusive leaves out the element itself, reverse begins at the end. */
#define LINE(name, T, U)                                                                           \
    void tilewright_line_##name(uint8_t *const *at, const int32_t *stride, const int32_t *extent,  \
                                const void *context)                                               \
    {                                                                                              \
        const int32_t *parameters =                                                                \
            ((const struct tilewright_line_attributes *)context)->parameters;                      \
        U total = 0;                                                                               \
        for (int32_t i = 0; i < extent[0]; i++) {                                                  \
            const int32_t k = parameters[1] != 0 ? extent[0] - 1 - i : i;                          \
            const T x = TILEWRIGHT_ELEMENT(T, at[0] + (ptrdiff_t)k * stride[0]);                   \
            T *y = (T *)(void *)(at[1] + (ptrdiff_t)k * stride[1]);                                \
            const U next = total + (U)x;                                                           \
            *y = (T)(parameters[0] != 0 ? total : next);                                           \
            total = next;                                                                          \
        }                                                                                          \
    }
LINE(cum_sum_f32, float, float)
LINE(cum_sum_i32, int32_t, uint32_t)
LINE(cum_sum_i64, int64_t, uint64_t)
