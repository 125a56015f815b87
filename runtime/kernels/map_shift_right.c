/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

/* A shift by the type's width or more gives 0; -1 for a negative value. */
#define ROW(suffix, T, U)                                                                          \
    static T shifted_##suffix(T a, T b)                                                            \
    {                                                                                              \
        const unsigned bits = 8u * (unsigned)sizeof(T);                                            \
        if ((uint64_t)b < bits) {                                                                  \
            return (T)(a >> b);                                                                    \
        }                                                                                          \
        return (T)(TILEWRIGHT_NEGATIVE(a) ? ~(U)0 : (U)0);                                         \
    }                                                                                              \
    TILEWRIGHT_MAP_2(shift_right_##suffix, T, T, T, shifted_##suffix(a, b))
TILEWRIGHT_FOR_INTEGERS(ROW)
