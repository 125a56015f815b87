/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the number of their elements, rounded half to even. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_AVERAGE_ROUNDING_H
#define TILEWRIGHT_KERNELS_AVERAGE_ROUNDING_H

#include "tilewright/kernels/basics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* product / (2^(32 + shift) * count), rounded half to even; shift from 1 to 30.
 *
 * The floor of the result is `quotient` = floor(whole / count), whole = floor(product / 2^(32 +
 * shift)). The fraction depends on `remainder` of that division and on the bits that the shift
 * drops: `bits` of the product's upper word, and `low`, its lower word. The fraction is above, at
 * or below 1/2 as (2 * remainder - count) * 2^shift + 2 * (bits + low / 2^32)   is above, at or
 * below 0. */
TILEWRIGHT_INLINE int32_t tilewright_average_divided(int64_t product, int32_t shift, int32_t count)
{
    const int32_t high = (int32_t)(product >> 32);
    const uint32_t low = (uint32_t)product;
    const uint32_t bits = (uint32_t)high & ((1u << shift) - 1u);
    const uint32_t half = 1u << (shift - 1);
    const int32_t whole = high >> shift;
    int32_t quotient = whole / count;
    int32_t remainder = whole % count;
    if (remainder < 0) {
        remainder += count;
        quotient--;
    }
    /* 2 * (bits + low / 2^32) is below 2 * 2^shift, so it decides only if 2 * remainder - count is
     * 0 or -1: then bits + low / 2^32 is compared with 0 or 2^shift / 2. */
    const int32_t twice = 2 * remainder - count;
    if (twice > 0 || twice < -1) {
        return quotient + (twice > 0);
    }
    const uint32_t threshold = twice == 0 ? 0 : half;
    if (bits != threshold || low != 0) {
        return quotient + (bits >= threshold);
    }
    return quotient + (quotient & 1);
}

/* One product of 32 bits for a sum: attributes' numbers for whole windows. */
struct tilewright_average_product {
    uint32_t multiplier, addend;
    int32_t shift, half, zero_point;
};

TILEWRIGHT_INLINE int32_t tilewright_average_rounded(int32_t sum,
                                                     struct tilewright_average_product product)
{
    const int32_t value = (int32_t)((uint32_t)sum * product.multiplier + product.addend);
    const int32_t floor = value >> product.shift;
    if (product.half == 0) {
        return floor;
    }
    return ((value + product.half + (floor & 1)) >> product.shift) + product.zero_point;
}

#ifdef __cplusplus
}
#endif

#endif
