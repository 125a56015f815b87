/* SPDX-License-Identifier: Apache-2.0 */
/* The counter of QEMU's virt machine. */
#include <tilewright/port.h>

/* Instructions retired (instret, CSR 0xc02, which user mode reads too), which QEMU counts exactly
 * under -icount. The instruction is written by its encoding, so that -march need not name zicsr. */
uint32_t tilewright_cycles(void)
{
    uint32_t count;
    __asm__ volatile(".insn i 0x73, 2, %0, x0, -1022" : "=r"(count));
    return count;
}
