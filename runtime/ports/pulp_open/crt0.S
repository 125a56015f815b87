/* SPDX-License-Identifier: Apache-2.0 */
/* From reset to tilewright_start on the fabric controller, to the dispatch loop on the cluster's
 * cores, and from a trap on any of them to tilewright_trap. */

    .macro read_csr rd, number
    .insn i 0x73, 2, \rd, x0, \number
    .endm
    .macro write_csr number, rs
    .insn i 0x73, 1, x0, \rs, \number
    .endm

    .equ MTVEC, 0x305
    .equ MEPC, 0x341
    .equ MCAUSE, 0x342
    .equ MHARTID, 0xf14 - 0x1000
    .equ FC_CACHE, 0x1a108800

    .macro set_up
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la t0, trap_entry
    write_csr MTVEC, t0
    la tp, __tls_base
    .endm

    .section .text.tilewright.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    set_up
    la sp, __stack
    /* Instruction caches are off at reset. */
    li t0, FC_CACHE
    li t1, -1
    sw t1, 0(t0)
    call tilewright_start
park:
    wfi
    j park
    .size _start, . - _start

    .balign 256
    .globl pulp_cluster_start
    .type pulp_cluster_start, @function
pulp_cluster_start:
    set_up
    read_csr a0, MHARTID
    andi a0, a0, 31
    /* pulp_stack_ends[core], filled by the fabric controller. */
    la t0, pulp_stack_ends
    slli t1, a0, 2
    add t0, t0, t1
    lw sp, 0(t0)
    call pulp_cluster_main
    j park
    .size pulp_cluster_start, . - pulp_cluster_start

/* A trap ends the program. There is no mtval, and the stack may be what broke. */
    .balign 256
    .type trap_entry, @function
trap_entry:
    la sp, __stack
    read_csr a0, MCAUSE
    read_csr a1, MEPC
    li a2, 0
    call tilewright_trap
    j park
    .size trap_entry, . - trap_entry
