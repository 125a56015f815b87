/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"

#define ROW(suffix, T, U)                                                                          \
    static T modulo_##suffix(T a, T b)                                                             \
    {                                                                                              \
        if (b == 0 || (TILEWRIGHT_NEGATIVE(b) && (U)b + 1u == 0)) {                                \
            return 0;                                                                              \
        }                                                                                          \
        const T rest = (T)(a % b);                                                                 \
        return (T)(rest != 0 && TILEWRIGHT_NEGATIVE(rest) != TILEWRIGHT_NEGATIVE(b) ? rest + b     \
                                                                                    : rest);       \
    }                                                                                              \
    TILEWRIGHT_MAP_2(mod_##suffix, T, T, T, modulo_##suffix(a, b))
TILEWRIGHT_FOR_INTEGERS(ROW)

static float modulo_f32(float a, float b)
{
    const float rest = fmodf(a, b);
    return rest != 0.0f && (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}
TILEWRIGHT_MAP_2(mod_f32, float, float, float, modulo_f32(a, b))
