/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/move_row.h"

#include "tilewright/kernels/basics.h"

static void move_words(uint8_t *to, const uint8_t *from, int32_t count)
{
    const tilewright_word *source = (const tilewright_word *)(const void *)from;
    tilewright_word *target = (tilewright_word *)(void *)to;
    for (; count >= 4; count -= 4) {
        const uint32_t a = source[0];
        const uint32_t b = source[1];
        const uint32_t c = source[2];
        const uint32_t d = source[3];
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
    TILEWRIGHT_UNROLL_4
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
    }
}

void tilewright_move_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                         const void *context)
{
    const int32_t element_bytes = *(const int32_t *)context;
    const int32_t from_step = stride[0];
    const int32_t to_step = stride[1];
    const uint8_t *from = at[0];
    uint8_t *to = at[1];

    if (from_step == element_bytes && to_step == element_bytes) {
        move_contiguous(to, from, count * element_bytes);
        return;
    }
    switch (element_bytes) {
    case 1:
        TILEWRIGHT_UNROLL_4
        for (; count > 0; count--, from += from_step, to += to_step) {
            *to = *from;
        }
        break;
    case 2:
        for (; count > 0; count--, from += from_step, to += to_step) {
            *(tilewright_half_word *)(void *)to = *(const tilewright_half_word *)(const void *)from;
        }
        break;
    case 8:
        for (; count > 0; count--, from += from_step, to += to_step) {
            tilewright_store_word(to + 4, tilewright_load_word(from + 4));
            tilewright_store_word(to, tilewright_load_word(from));
        }
        break;
    default:
        TILEWRIGHT_UNROLL_4
        for (; count > 0; count--, from += from_step, to += to_step) {
            tilewright_store_word(to, tilewright_load_word(from));
        }
        break;
    }
}
