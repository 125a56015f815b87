/* SPDX-License-Identifier: Apache-2.0 */
/* QEMU's RISC-V 'virt' board: console and exit. */
#ifndef TILEWRIGHT_QEMU_VIRT_H
#define TILEWRIGHT_QEMU_VIRT_H

#include <stdint.h>

/* Exit status after a trap. */
#define TILEWRIGHT_TRAP_STATUS 99

/* Characters go to the UART without buffering. */
void tilewright_console_put(char character);
void tilewright_console_write(const char *text);

/* End QEMU with this exit status. The host sees its low 8 bits; a failure whose low bits are
 * zero ends with 1. */
_Noreturn void tilewright_exit(int status);

#endif
