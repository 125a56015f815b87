/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"
#include "tilewright/kernels/to_integer.h"

#define ROW(suffix, T, U)                                                                          \
    static U power_##suffix(U base, T exponent)                                                    \
    {                                                                                              \
        U result = 1;                                                                              \
        for (U left = TILEWRIGHT_NEGATIVE(exponent) ? 0 : (U)exponent; left != 0; left >>= 1) {    \
            result *= (left & 1u) != 0 ? base : 1u;                                                \
            base *= base;                                                                          \
        }                                                                                          \
        return result;                                                                             \
    }                                                                                              \
    TILEWRIGHT_MAP_2(pow_##suffix, T, T, T, power_##suffix((U)a, b))
TILEWRIGHT_FOR_INTEGERS(ROW)
TILEWRIGHT_MAP_2(pow_f32, float, float, float, powf(a, b))
TILEWRIGHT_MAP_2(pow_i32_f32, int32_t, int32_t, float, tilewright_to_i32(pow((double)a, (double)b)))
TILEWRIGHT_MAP_2(pow_i64_f32, int64_t, int64_t, float, tilewright_to_i64(pow((double)a, (double)b)))
