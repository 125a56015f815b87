/* SPDX-License-Identifier: Apache-2.0 */
/* Where the 8-bit elements of a window lie. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_BYTE_TAPS_H
#define TILEWRIGHT_KERNELS_BYTE_TAPS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The taps of a window in channel 0; steps are bytes. Where rows lie in a ring, `ring_end` is its
 * end in the column of the first tap, and `ring_bytes` its size; 0 without a ring. */
struct tilewright_byte_taps {
    const uint8_t *first;
    int32_t rows;
    int32_t columns;
    ptrdiff_t row_bytes;
    ptrdiff_t column_bytes;
    const uint8_t *ring_end;
    ptrdiff_t ring_bytes;
};

#ifdef __cplusplus
}
#endif

#endif
