/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's functions of floats (GCC internals, "Routines for floating point emulation"), each
 * one instruction of Zfinx: the linker takes them instead of libgcc's. GCC 12 calls them for every
 * operation, since it knows no instructions of floats in integer registers; so do the C library and
 * applications. Results have the bits of libgcc's, except that a NaN is always 0x7fc00000. */
#if defined TILEWRIGHT_ZFINX && TILEWRIGHT_ZFINX

.macro function name
    .section .text.\name, "ax", @progbits
    .p2align 2
    .globl \name
    .type \name, @function
\name:
.endm

.macro end name
    ret
    .size \name, . - \name
.endm

/* Two floats, a float. */
.macro arithmetic name, funct7
    function \name
    .insn r 0x53, 0, \funct7, a0, a0, a1
    end \name
.endm

arithmetic __addsf3, 0x00
arithmetic __subsf3, 0x04
arithmetic __mulsf3, 0x08
arithmetic __divsf3, 0x0c

/* Conversions: rm is how they round; rs2 says whether the integer has a sign. */
.macro conversion name, rm, funct7, rs2
    function \name
    .insn r 0x53, \rm, \funct7, a0, a0, \rs2
    end \name
.endm

conversion __fixsfsi, 1, 0x60, x0
conversion __fixunssfsi, 1, 0x60, x1
conversion __floatsisf, 0, 0x68, x0
conversion __floatunsisf, 0, 0x68, x1

/* Comparisons give a number to compare with 0. The operands are exchanged for >= and >. */
function __ltsf2
    .insn r 0x53, 1, 0x50, a0, a0, a1
    neg a0, a0
end __ltsf2

function __gtsf2
    .insn r 0x53, 1, 0x50, a0, a1, a0
end __gtsf2

/* <= 0 where a <= b, else 1. */
function __lesf2
    .insn r 0x53, 0, 0x50, a0, a0, a1
    xori a0, a0, 1
end __lesf2

/* >= 0 where a >= b, else -1. */
function __gesf2
    .insn r 0x53, 0, 0x50, a0, a1, a0
    addi a0, a0, -1
end __gesf2

/* 0 where a == b, else 1. */
function __eqsf2
    .insn r 0x53, 2, 0x50, a0, a0, a1
    xori a0, a0, 1
end __eqsf2

function __nesf2
    .insn r 0x53, 2, 0x50, a0, a0, a1
    xori a0, a0, 1
end __nesf2

/* Whether one of the two is NaN. */
function __unordsf2
    .insn r 0x53, 2, 0x50, a0, a0, a0
    .insn r 0x53, 2, 0x50, a1, a1, a1
    and a0, a0, a1
    xori a0, a0, 1
end __unordsf2

#endif
