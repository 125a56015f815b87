/* SPDX-License-Identifier: Apache-2.0 */
/* Into user mode and back. */
#include "csr.S.inc"
#include "protect.h"

    .equ MSTATUS_MIE_MPIE_MPP, 0x1888
    .equ MSTATUS_MPIE_MPP, 0x1880
    .equ ECALL_FROM_USER, 8
    .equ ALL_COUNTERS, 7
    .equ MISA_SUPERVISOR, 18

    .equ AT_CALLER, 0
    .equ AT_SAVED, 4
    .equ AT_GP, 52
    .equ AT_TP, 56
    .equ AT_MTVEC, 60
    .equ AT_MSCRATCH, 64
    .equ AT_MIE, 68
    .equ AT_MSTATUS, 72
    .equ AT_TRAP, 76
    .equ AT_FLOATS, 80

    .macro each_saved instruction, at
    .set place, \at
    .irp name, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    \instruction \name, place(sp)
    .set place, place + 4
    .endr
    .endm

    .macro each_float instruction, at
    .set place, \at
    .irp name, fs0, fs1, fs2, fs3, fs4, fs5, fs6, fs7, fs8, fs9, fs10, fs11
    \instruction \name, place(sp)
    .set place, place + 8
    .endr
    .endm

    .section .text.tilewright_protect_set, "ax", @progbits
    .globl tilewright_protect_set
    .type tilewright_protect_set, @function
tilewright_protect_set:
    li a2, 0
    .set number, 0
    .rept PROTECT_ENTRIES
    lw t0, 4 * number(a0)
    write_csr PMPADDR + number, t0
    .set number, number + 1
    .endr
    .set number, 0
    .rept PROTECT_ENTRIES / 4
    lw t0, 4 * number(a1)
    write_csr PMPCFG + number, t0
    read_csr t1, PMPCFG + number
    xor t1, t1, t0
    or a2, a2, t1
    .set number, number + 1
    .endr
    .set number, 0
    .rept PROTECT_ENTRIES
    lw t0, 4 * number(a0)
    read_csr t1, PMPADDR + number
    xor t1, t1, t0
    or a2, a2, t1
    .set number, number + 1
    .endr
    mv a0, a2
    ret
    .size tilewright_protect_set, . - tilewright_protect_set

    .section .text.tilewright_protect_enter, "ax", @progbits
    .globl tilewright_protect_enter
    .type tilewright_protect_enter, @function
tilewright_protect_enter:
    addi sp, sp, -PROTECT_FRAME_BYTES
    sw ra, AT_CALLER(sp)
    each_saved sw, AT_SAVED
#if defined __riscv_flen && __riscv_flen == 64
    each_float fsd, AT_FLOATS
#elif defined __riscv_flen
    each_float fsw, AT_FLOATS
#endif
    sw gp, AT_GP(sp)
    sw tp, AT_TP(sp)
    sw a2, AT_TRAP(sp)
    read_csr t0, MTVEC
    sw t0, AT_MTVEC(sp)
    read_csr t0, MSCRATCH
    sw t0, AT_MSCRATCH(sp)
    read_csr t0, MSTATUS
    sw t0, AT_MSTATUS(sp)
    /* Interrupts of machine mode always interrupt user mode, and their handlers are not here. */
    read_csr t0, MIE
    sw t0, AT_MIE(sp)
    write_csr MIE, x0
    /* Layers with PROFILE read counters. */
    li t0, ALL_COUNTERS
    write_csr MCOUNTEREN, t0
    read_csr t1, MISA
    slli t1, t1, 31 - MISA_SUPERVISOR
    bgez t1, 1f
    write_csr SCOUNTEREN, t0
1:
    la t0, trapped
    write_csr MTVEC, t0
    write_csr MSCRATCH, sp
    li t0, MSTATUS_MPIE_MPP
    clear_csr MSTATUS, t0
    la t0, in_user_mode
    write_csr MEPC, t0
    mv t0, a0
    mv a0, a1
    /* Never taken: who proves the stack from the code sees that the call below belongs here. */
    bnez zero, in_user_mode
    mret
in_user_mode:
    jalr t0
returned:
    ecall
    j returned

    .balign 4
trapped:
    /* Nothing of user mode is needed but what it returned, its stack pointer least of all. */
    read_csr sp, MSCRATCH
    read_csr t1, MCAUSE
    read_csr t2, MEPC
    li t3, ECALL_FROM_USER
    bne t1, t3, 1f
    la t3, returned
    beq t2, t3, 2f
1:
    lw t0, AT_TRAP(sp)
    sw t1, 0(t0)
    sw t2, 4(t0)
    read_csr t1, MTVAL
    sw t1, 8(t0)
2:
    lw t0, AT_MTVEC(sp)
    write_csr MTVEC, t0
    lw t0, AT_MSCRATCH(sp)
    write_csr MSCRATCH, t0
    lw t0, AT_MIE(sp)
    write_csr MIE, t0
    lw tp, AT_TP(sp)
    lw gp, AT_GP(sp)
#if defined __riscv_flen && __riscv_flen == 64
    each_float fld, AT_FLOATS
#elif defined __riscv_flen
    each_float flw, AT_FLOATS
#endif
    each_saved lw, AT_SAVED
    lw ra, AT_CALLER(sp)
    /* The fields of interrupts and modes as they were; what layers used of floats stays marked. */
    lw t1, AT_MSTATUS(sp)
    addi sp, sp, PROTECT_FRAME_BYTES
    li t0, MSTATUS_MIE_MPIE_MPP
    clear_csr MSTATUS, t0
    and t1, t1, t0
    set_csr MSTATUS, t1
    ret
    .size tilewright_protect_enter, . - tilewright_protect_enter
