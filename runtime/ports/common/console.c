/* SPDX-License-Identifier: Apache-2.0 */
/* The part of console and exit that all boards share; console.c of each board has the rest.
 */
#include "board.h"

#define DIGIT_BITS 4

void tilewright_console_write(const char *text)
{
    for (; *text != '\0'; text++) {
        tilewright_console_put(*text);
    }
}

void tilewright_console_word(const char *name, uintptr_t value)
{
    static const char digits[] = "0123456789abcdef";
    tilewright_console_write(name);
    for (int32_t shift = 8 * (int32_t)sizeof(value) - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
        tilewright_console_put(digits[(value >> shift) & 15u]);
    }
}

uint32_t tilewright_exit_code(int status)
{
    const uint32_t code = (uint32_t)status & 0xffu;
    return status != 0 && code == 0u ? 1u : code;
}
