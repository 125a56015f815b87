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

/* Copies a constant number of bytes between words: the compiler turns memcpy into loads and stores.
 */
#define TILEWRIGHT_COPY_WORDS(destination, source, size)                                           \
    __builtin_memcpy(__builtin_assume_aligned(destination, 4),                                     \
                     __builtin_assume_aligned(source, 4), size)

/* Copies `bytes` between addresses that are multiples of four, in steps of 32: four words twice, so
 * that the words in between need four registers. */
static inline void tilewright_copy_aligned(uint8_t *destination, const uint8_t *source,
                                           uint32_t bytes)
{
    for (; bytes >= 32u; bytes -= 32u) {
        TILEWRIGHT_COPY_WORDS(destination, source, 16u);
        TILEWRIGHT_COPY_WORDS(destination + 16, source + 16, 16u);
        destination += 32;
        source += 32;
    }
    if ((bytes & 16u) != 0u) {
        TILEWRIGHT_COPY_WORDS(destination, source, 16u);
        destination += 16;
        source += 16;
    }
    if ((bytes & 8u) != 0u) {
        TILEWRIGHT_COPY_WORDS(destination, source, 8u);
        destination += 8;
        source += 8;
    }
    if ((bytes & 4u) != 0u) {
        TILEWRIGHT_COPY_WORDS(destination, source, 4u);
        destination += 4;
        source += 4;
    }
    for (bytes &= 3u; bytes > 0u; bytes--) {
        *destination++ = *source++;
    }
}

/* Copies words if both addresses have the same remainder modulo 4, else bytes, four in a step. */
static inline void tilewright_copy_line(uint8_t *destination, const uint8_t *source, uint32_t bytes)
{
    if ((((uintptr_t)destination ^ (uintptr_t)source) & 3u) == 0u) {
        for (; bytes > 0u && ((uintptr_t)destination & 3u) != 0u; bytes--) {
            *destination++ = *source++;
        }
        tilewright_copy_aligned(destination, source, bytes);
        return;
    }
    for (; bytes >= 4u; bytes -= 4u) {
        destination[0] = source[0];
        destination[1] = source[1];
        destination[2] = source[2];
        destination[3] = source[3];
        destination += 4;
        source += 4;
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
