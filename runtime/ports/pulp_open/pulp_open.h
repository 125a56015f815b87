/* SPDX-License-Identifier: Apache-2.0 */
/* pulp-open as GVSoC models it: a fabric controller, and a cluster of eight cores beside L1.
 * L2 is 0x1c000000 to 0x1c18ffff, L1 is 64 KiB at 0x10000000. External HyperRAM is not mapped:
 * its byte n has the address TILEWRIGHT_HYPER_BASE + n, which only links understand. */
#ifndef TILEWRIGHT_PULP_OPEN_H
#define TILEWRIGHT_PULP_OPEN_H

#include "../common/board.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TILEWRIGHT_PULP_CORES 8u

#define TILEWRIGHT_HYPER_BASE 0x80000000u
#define TILEWRIGHT_HYPER_SIZE 0x00800000u

/* Exit status when a core has written below its stack. */
#define TILEWRIGHT_STACK_STATUS 98

/* Exit status when constants could not be brought to HyperRAM. */
#define TILEWRIGHT_LOAD_STATUS 97

/* Under this name the simulator's folder has the program's file. */
#define TILEWRIGHT_PROGRAM_FILE "program.elf"

/* Bring the program's constants to HyperRAM, before the first inference. Start-up of this port has
 * done it when main begins. */
void tilewright_load_hyper(void);

/* Bytes of a core's stack that were never used, of how many. The fabric controller asks. */
uint32_t tilewright_stack_bytes(uint32_t core);
uint32_t tilewright_stack_unused(uint32_t core);

#ifdef __cplusplus
}
#endif

#endif
