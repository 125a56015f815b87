/* SPDX-License-Identifier: Apache-2.0 */
/* From reset to tilewright_start, and from a trap to tilewright_trap. */

#include "csr.S.inc"

    .equ MSTATUS_FS_INITIAL, 1 << 13
    .equ MSTATUS_VS_INITIAL, 1 << 9

    .section .text.tilewright.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    read_csr t0, MHARTID
    bnez t0, park
    la t0, trap_entry
    write_csr MTVEC, t0
    la sp, __stack
    la tp, __tls_base
    /* Vectors may be used where the core has them; else the field stays zero. */
    li t0, MSTATUS_VS_INITIAL
    set_csr MSTATUS, t0
#ifdef __riscv_flen
    li t0, MSTATUS_FS_INITIAL
    set_csr MSTATUS, t0
    write_csr FCSR, x0
#endif
    call tilewright_start
park:
    wfi
    j park
    .size _start, . - _start

/* A trap ends the program. The stack may be what broke, so the handler gets a fresh one. */
    .balign 4
    .type trap_entry, @function
trap_entry:
    la sp, __stack
    read_csr a0, MCAUSE
    read_csr a1, MEPC
    read_csr a2, MTVAL
    call tilewright_trap
    j park
    .size trap_entry, . - trap_entry
