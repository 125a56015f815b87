/* SPDX-License-Identifier: Apache-2.0 */
/* Real numbers to integers without undefined behaviour: rounded towards zero; the nearest integer
 * of the type if x is out of range, 0 for NaN. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_TO_INTEGER_H
#define TILEWRIGHT_KERNELS_TO_INTEGER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* Of floats, without float64, which few cores compute. No float lies between the largest integer
 * and the power of two above it. */
static inline int64_t tilewright_float_to_i64(float x)
{
    if (x != x) {
        return 0;
    }
    if (x >= 9223372036854775808.0f) {
        return INT64_MAX;
    }
    return x <= -9223372036854775808.0f ? INT64_MIN : (int64_t)x;
}

static inline uint32_t tilewright_float_to_u32(float x)
{
    if (!(x > 0.0f)) {
        return 0;
    }
    return x >= 4294967296.0f ? UINT32_MAX : (uint32_t)x;
}

/* Clipped to [least, most], the ends of a type. */
static inline int32_t tilewright_float_to_range(float x, int32_t least, int32_t most)
{
    if (x != x) {
        return 0;
    }
    if (x >= (float)most) {
        return most;
    }
    return x <= (float)least ? least : (int32_t)x;
}

#ifdef __cplusplus
}
#endif

#endif
