/* SPDX-License-Identifier: Apache-2.0 */
/* Indices that are only known at run time. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_INDICES_H
#define TILEWRIGHT_KERNELS_INDICES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a signed index of 4 or 8 bytes; -1 is the last element. An index out of range becomes the
 * nearest element, so that kernels never touch memory outside of an axis of `extent` elements. */
static inline int32_t tilewright_index(const uint8_t *at, int32_t bytes, int32_t extent)
{
    int64_t index = bytes == 8 ? *(const int64_t *)(const void *)at
                               : (int64_t) * (const int32_t *)(const void *)at;
    if (index < 0) {
        index += extent;
    }
    if (index < 0) {
        return 0;
    }
    return index < extent ? (int32_t)index : extent - 1;
}

#ifdef __cplusplus
}
#endif

#endif
