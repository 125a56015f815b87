/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/map_rows.h"

/* Round k finds the best element that ranks behind the element of round k - 1. Of equal elements
 * the one with the smaller index ranks first; NaN is above all numbers. */
#define LINE(name, T)                                                                              \
    static int ranks_##name(T a, int32_t i, T b, int32_t j, int32_t largest)                       \
    {                                                                                              \
        if (a == b || (a != a && b != b)) {                                                        \
            return i < j;                                                                          \
        }                                                                                          \
        if (a != a || b != b) {                                                                    \
            return (largest != 0) == (a != a);                                                     \
        }                                                                                          \
        return largest != 0 ? a > b : a < b;                                                       \
    }                                                                                              \
    void tilewright_line_##name(uint8_t *const *at, const int32_t *stride, const int32_t *extent,  \
                                const void *context)                                               \
    {                                                                                              \
        const int32_t largest =                                                                    \
            ((const struct tilewright_line_attributes *)context)->parameters[0];                   \
        T last = 0;                                                                                \
        int32_t last_index = -1;                                                                   \
        for (int32_t k = 0; k < extent[1]; k++) {                                                  \
            T best = 0;                                                                            \
            int32_t best_index = -1;                                                               \
            for (int32_t i = 0; i < extent[0]; i++) {                                              \
                const T x = TILEWRIGHT_ELEMENT(T, at[0] + (ptrdiff_t)i * stride[0]);               \
                const int behind =                                                                 \
                    last_index < 0 || ranks_##name(last, last_index, x, i, largest);               \
                if (behind && (best_index < 0 || ranks_##name(x, i, best, best_index, largest))) { \
                    best = x;                                                                      \
                    best_index = i;                                                                \
                }                                                                                  \
            }                                                                                      \
            *(T *)(void *)(at[1] + (ptrdiff_t)k * stride[1]) = best;                               \
            *(int64_t *)(void *)(at[2] + (ptrdiff_t)k * stride[2]) = best_index;                   \
            last = best;                                                                           \
            last_index = best_index;                                                               \
        }                                                                                          \
    }
LINE(top_k_f32, float)
LINE(top_k_i8, int8_t)
LINE(top_k_u8, uint8_t)
LINE(top_k_i16, int16_t)
LINE(top_k_u16, uint16_t)
LINE(top_k_i32, int32_t)
LINE(top_k_u32, uint32_t)
LINE(top_k_i64, int64_t)
