/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by the core itself, for ports without a copy engine and for tests. */
#ifndef TILEWRIGHT_COPY_LINES_H
#define TILEWRIGHT_COPY_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <tilewright/port.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that one step of the inner loop moves. */
#define TILEWRIGHT_COPY_STEP 16u

/* Copies words if both addresses have the same remainder modulo 4, else bytes. */
static inline void tilewright_copy_line(uint8_t *destination, const uint8_t *source, uint32_t bytes)
{
    if ((((uintptr_t)destination ^ (uintptr_t)source) & 3u) == 0u) {
        while (bytes > 0u && ((uintptr_t)destination & 3u) != 0u) {
            *destination++ = *source++;
            bytes--;
        }
        /* The compiler turns memcpy of a constant size into loads and stores, here of four words.
         */
        for (; bytes >= TILEWRIGHT_COPY_STEP; bytes -= TILEWRIGHT_COPY_STEP) {
            __builtin_memcpy(__builtin_assume_aligned(destination, 4),
                             __builtin_assume_aligned(source, 4), TILEWRIGHT_COPY_STEP);
            destination += TILEWRIGHT_COPY_STEP;
            source += TILEWRIGHT_COPY_STEP;
        }
        for (; bytes >= 4u; bytes -= 4u) {
            __builtin_memcpy(__builtin_assume_aligned(destination, 4),
                             __builtin_assume_aligned(source, 4), 4u);
            destination += 4;
            source += 4;
        }
    }
    for (; bytes > 0u; bytes--) {
        *destination++ = *source++;
    }
}

static inline void tilewright_copy_lines(tilewright_address_t destination,
                                         tilewright_address_t source, uint32_t lines,
                                         uint32_t line_bytes, int32_t destination_stride,
                                         int32_t source_stride)
{
    for (uint32_t line = 0; line < lines; line++) {
        tilewright_copy_line((uint8_t *)destination, (const uint8_t *)source, line_bytes);
        destination += (tilewright_address_t)(ptrdiff_t)destination_stride;
        source += (tilewright_address_t)(ptrdiff_t)source_stride;
    }
}

#ifdef __cplusplus
}
#endif

#endif
