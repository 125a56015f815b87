/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of user_mode.S for protect.c: write the entries of PMP, enter user mode and return. */
#ifndef TILEWRIGHT_QEMU_VIRT_PROTECT_H
#define TILEWRIGHT_QEMU_VIRT_PROTECT_H

#define PROTECT_ENTRIES 16

/* Registers that tilewright_protect_enter saves on the stack, above the part that user mode writes.
 */
#define PROTECT_FRAME_BYTES 176

#ifndef __ASSEMBLER__

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROTECT_NO_TRAP UINT32_MAX

/* The trap that ended user mode: mcause, mepc, mtval. */
struct protect_trap {
    uint32_t cause;
    uint32_t instruction;
    uint32_t value;
};

/* Write all entries; not 0 if one did not take its value, since a locked one keeps its own. */
int tilewright_protect_set(const uint32_t *addresses, const uint32_t *configurations);

/* work(argument) in user mode, on the stack below the frame; what it returned, or anything when
 * `trap` is written. */
int tilewright_protect_enter(int (*work)(void *argument), void *argument,
                             struct protect_trap *trap);

#ifdef __cplusplus
}
#endif

#endif

#endif
