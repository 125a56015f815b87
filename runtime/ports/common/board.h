/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of every bare-metal port beside tilewright/port.h: console and exit. */
#ifndef TILEWRIGHT_BOARD_H
#define TILEWRIGHT_BOARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Exit status after a trap. */
#define TILEWRIGHT_TRAP_STATUS 99

/* Characters go out without a C library. */
void tilewright_console_put(char character);
void tilewright_console_write(const char *text);

/* Prints the name, then the value in hexadecimal digits. */
void tilewright_console_word(const char *name, uintptr_t value);

/* The 8 bits of an exit status that a simulator hands on; 1 for a failure whose low bits are zero.
 */
uint32_t tilewright_exit_code(int status);

/* End the simulator with this exit status. */
__attribute__((noreturn)) void tilewright_exit(int status);

/* Called by start-up code: from the first C instruction to main; and after a trap. */
__attribute__((noreturn)) void tilewright_start(void);
__attribute__((noreturn)) void tilewright_trap(uintptr_t cause, uintptr_t address, uintptr_t value);

#ifdef __cplusplus
}
#endif

#endif
