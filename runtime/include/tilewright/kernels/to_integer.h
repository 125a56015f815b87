/* SPDX-License-Identifier: Apache-2.0 */
/* Real numbers to integers without undefined behaviour. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_TO_INTEGER_H
#define TILEWRIGHT_KERNELS_TO_INTEGER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* x rounded towards zero; the nearest integer of the type if x is out of range, 0 for NaN. */
static inline int64_t tilewright_to_i64(double x)
{
    if (x != x) {
        return 0;
    }
    if (x >= 9223372036854775808.0) {
        return INT64_MAX;
    }
    return x <= -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}

static inline uint32_t tilewright_to_u32(double x)
{
    if (!(x > 0.0)) {
        return 0;
    }
    return x >= 4294967295.0 ? UINT32_MAX : (uint32_t)x;
}

/* x rounded towards zero and clipped to [least, most], as tilewright_to_i64 does. */
static inline int32_t tilewright_to_range(double x, int32_t least, int32_t most)
{
    if (x != x) {
        return 0;
    }
    if (x >= (double)most) {
        return most;
    }
    return x <= (double)least ? least : (int32_t)x;
}

static inline int32_t tilewright_to_i32(double x)
{
    if (x != x) {
        return 0;
    }
    if (x >= 2147483647.0) {
        return INT32_MAX;
    }
    return x <= -2147483648.0 ? INT32_MIN : (int32_t)x;
}

#ifdef __cplusplus
}
#endif

#endif
