/* SPDX-License-Identifier: Apache-2.0 */
/* QEMU's RISC-V 'virt' board: console and exit. The host sees the low 8 bits of an exit status;
 * a failure whose low bits are zero ends with 1. */
#ifndef TILEWRIGHT_QEMU_VIRT_H
#define TILEWRIGHT_QEMU_VIRT_H

#include "../common/board.h"

#endif
