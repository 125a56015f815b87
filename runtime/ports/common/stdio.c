/* SPDX-License-Identifier: Apache-2.0 */
/* printf and the ways to end of picolibc, on the board's console. */
#include "board.h"

#include <stddef.h>
#if defined(__has_include)
#if __has_include(<stdio.h>)
#include <stdio.h>
#endif
#endif

#ifdef FDEV_SETUP_STREAM /* picolibc of any version */
static int put(char character, FILE *stream)
{
    (void)stream;
    tilewright_console_put(character);
    return (unsigned char)character;
}

static FILE console = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
/* The library alone names these: link-time optimisation, which sees no library, keeps them for it.
 */
__attribute__((used)) FILE *const stdin = &console;
__attribute__((used)) FILE *const stdout = &console;
__attribute__((used)) FILE *const stderr = &console;

/* exit, abort and assert of the C library end here. */
_Noreturn void _exit(int status);
_Noreturn void _exit(int status)
{
    tilewright_exit(status);
}
#endif
