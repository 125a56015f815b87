/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/move_row.h"

#if defined(__GNUC__)
#define MAY_ALIAS __attribute__((__may_alias__))
#else
#define MAY_ALIAS
#endif

/* Elements are moved as integers, whatever they are. */
typedef uint16_t MAY_ALIAS half_word;
typedef uint32_t MAY_ALIAS word;

static void move_words(uint8_t *to, const uint8_t *from, int32_t count)
{
    const word *source = (const word *)(const void *)from;
    word *target = (word *)(void *)to;
    for (; count >= 4; count -= 4) {
        const word a = source[0];
        const word b = source[1];
        const word c = source[2];
        const word d = source[3];
        target[0] = a;
        target[1] = b;
        target[2] = c;
        target[3] = d;
        source += 4;
        target += 4;
    }
    for (; count > 0; count--) {
        *target++ = *source++;
    }
}

static void move_contiguous(uint8_t *to, const uint8_t *from, int32_t bytes)
{
    if ((((uintptr_t)to | (uintptr_t)from) & 3u) == 0) {
        const int32_t words = bytes / 4;
        move_words(to, from, words);
        to += 4 * words;
        from += 4 * words;
        bytes -= 4 * words;
    }
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
    }
}

void tilewright_move_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                         const void *context)
{
    const int32_t element_bytes = *(const int32_t *)context;
    const uint8_t *from = at[0];
    uint8_t *to = at[1];

    if (stride[0] == element_bytes && stride[1] == element_bytes) {
        move_contiguous(to, from, count * element_bytes);
        return;
    }
    switch (element_bytes) {
    case 1:
        for (; count > 0; count--, from += stride[0], to += stride[1]) {
            *to = *from;
        }
        break;
    case 2:
        for (; count > 0; count--, from += stride[0], to += stride[1]) {
            *(half_word *)(void *)to = *(const half_word *)(const void *)from;
        }
        break;
    case 8:
        for (; count > 0; count--, from += stride[0], to += stride[1]) {
            ((word *)(void *)to)[1] = ((const word *)(const void *)from)[1];
            *(word *)(void *)to = *(const word *)(const void *)from;
        }
        break;
    default:
        for (; count > 0; count--, from += stride[0], to += stride[1]) {
            *(word *)(void *)to = *(const word *)(const void *)from;
        }
        break;
    }
}
