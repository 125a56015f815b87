/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_core.h"

#if defined(__riscv) && __riscv_xlen == 32

_Static_assert(offsetof(struct tilewright_xpulpv2_job, pixel) == 24 &&
                   offsetof(struct tilewright_xpulpv2_job, shift) == 56 &&
                   offsetof(struct tilewright_xpulpv2_job, all_blocks) == 88,
               "the assembler knows where the fields are");

/* clang-format off */
/* Registers of a core: a0 the job, a7 the weights, t3 to t6 the pixels, a1 to a4 words of four
 * channels, a5 and a6 words of two pixels; sums of channel 0 in ra, t0, t1, t2, of channel 1 in
 * s0 to s3, of channel 2 in s4 to s7, of channel 3 in s8 to s11. */
__asm__(
    /* Xpulpv2 as encodings. */
    ".macro tilewright_p_lw rd, rs1\n"
    ".insn i 0x0b, 2, \\rd, 4(\\rs1)\n"
    ".endm\n"
    /* rs2 to rs1, which then moves on by rd, the register of the step. */
    ".macro tilewright_p_sb rs2, rs1, step\n"
    ".insn r 0x2b, 4, 0, \\step, \\rs1, \\rs2\n"
    ".endm\n"
    ".macro tilewright_p_mac rd, rs1, rs2\n"
    ".insn r 0x33, 0, 0x21, \\rd, \\rs1, \\rs2\n"
    ".endm\n"
    ".macro tilewright_p_max rd, rs1, rs2\n"
    ".insn r 0x33, 6, 0x02, \\rd, \\rs1, \\rs2\n"
    ".endm\n"
    ".macro tilewright_p_min rd, rs1, rs2\n"
    ".insn r 0x33, 4, 0x02, \\rd, \\rs1, \\rs2\n"
    ".endm\n"
    /* Hardware loop 0 over all that follows up to the instruction 2 * offset bytes from here. */
    ".macro tilewright_lp_setup count, offset\n"
    ".insn i 0x7b, 4, x0, \\count, \\offset\n"
    ".endm\n"
    /* One word of one pixel with those of four channels; dot: function bits of pv.sdotsp.b or
     * pv.sdotusp.b. */
    ".macro tilewright_dots dot, x, c0, c1, c2, c3\n"
    ".insn r 0x57, 1, \\dot, \\c0, \\x, a1\n"
    ".insn r 0x57, 1, \\dot, \\c1, \\x, a2\n"
    ".insn r 0x57, 1, \\dot, \\c2, \\x, a3\n"
    ".insn r 0x57, 1, \\dot, \\c3, \\x, a4\n"
    ".endm\n"

    ".macro tilewright_begin name\n"
    ".section .text.\\name, \"ax\", @progbits\n"
    ".option push\n"
    ".option norvc\n"
    ".balign 16\n"
    ".globl \\name\n"
    ".type \\name, @function\n"
    "\\name:\n"
    "addi sp, sp, -64\n"
    "sw ra, 0(sp)\n"
    "sw s0, 4(sp)\n"
    "sw s1, 8(sp)\n"
    "sw s2, 12(sp)\n"
    "sw s3, 16(sp)\n"
    "sw s4, 20(sp)\n"
    "sw s5, 24(sp)\n"
    "sw s6, 28(sp)\n"
    "sw s7, 32(sp)\n"
    "sw s8, 36(sp)\n"
    "sw s9, 40(sp)\n"
    "sw s10, 44(sp)\n"
    "sw s11, 48(sp)\n"
    "lw a7, 12(a0)\n"
    ".endm\n"

    ".macro tilewright_end name\n"
    "sw a7, 12(a0)\n"
    "lw ra, 0(sp)\n"
    "lw s0, 4(sp)\n"
    "lw s1, 8(sp)\n"
    "lw s2, 12(sp)\n"
    "lw s3, 16(sp)\n"
    "lw s4, 20(sp)\n"
    "lw s5, 24(sp)\n"
    "lw s6, 28(sp)\n"
    "lw s7, 32(sp)\n"
    "lw s8, 36(sp)\n"
    "lw s9, 40(sp)\n"
    "lw s10, 44(sp)\n"
    "lw s11, 48(sp)\n"
    "addi sp, sp, 64\n"
    "ret\n"
    ".size \\name, . - \\name\n"
    ".option pop\n"
    ".previous\n"
    ".endm\n"

    /* All words of all runs of a block. Nothing uses what was loaded just before. */
    ".macro tilewright_multiply dot\n"
    "lw a1, 0(a0)\n"
    "lw a2, 8(a0)\n"
    "1:\n"
    "lw t3, 0(a1)\n"
    "lw t4, 4(a1)\n"
    "lw t5, 8(a1)\n"
    "lw t6, 12(a1)\n"
    "addi a1, a1, 20\n"
    "sw a1, 68(a0)\n"
    "tilewright_lp_setup a2, 48\n"
    "tilewright_p_lw a1, a7\n"
    "tilewright_p_lw a2, a7\n"
    "tilewright_p_lw a3, a7\n"
    "tilewright_p_lw a4, a7\n"
    "tilewright_p_lw a5, t3\n"
    "tilewright_p_lw a6, t4\n"
    "tilewright_dots \\dot, a5, ra, s0, s4, s8\n"
    "tilewright_p_lw a5, t5\n"
    "tilewright_dots \\dot, a6, t0, s1, s5, s9\n"
    "tilewright_p_lw a6, t6\n"
    "tilewright_dots \\dot, a5, t1, s2, s6, s10\n"
    "tilewright_dots \\dot, a6, t2, s3, s7, s11\n"
    "lw a1, 68(a0)\n"
    "lw a3, 4(a0)\n"
    "lw a2, 8(a0)\n"
    "bne a1, a3, 1b\n"
    ".endm\n"

    ".macro tilewright_zero at, first, second, third, fourth\n"
    ".option rvc\n"
    "li \\first, 0\n"
    "li \\second, 0\n"
    "li \\third, 0\n"
    "li \\fourth, 0\n"
    ".option norvc\n"
    ".endm\n"

    ".macro tilewright_bias at, first, second, third, fourth\n"
    "lw \\first, \\at(a1)\n"
    "nop\n"
    "mv \\second, \\first\n"
    "mv \\third, \\first\n"
    "mv \\fourth, \\first\n"
    ".endm\n"

    ".macro tilewright_four op, at, first, second, third, fourth\n"
    "\\op \\first, \\at(a1)\n"
    "\\op \\second, \\at+4(a1)\n"
    "\\op \\third, \\at+8(a1)\n"
    "\\op \\fourth, \\at+12(a1)\n"
    ".endm\n"

    /* Sums leave through memory, so that the finish is a loop over channels: all of a block stays in
     * a core's 512 bytes of fast instructions. t0 the sums, a1 the rows, a2 to a4 a row's constants,
     * a5 and a6 the clamp, a7 the step from channel to channel, t3 to t6 the pixels. */
    ".macro tilewright_open_finish\n"
    "lw a1, 64(a0)\n"
    "sw a7, 12(a0)\n"
    "tilewright_four sw, 0, ra, t0, t1, t2\n"
    "tilewright_four sw, 16, s0, s1, s2, s3\n"
    "tilewright_four sw, 32, s4, s5, s6, s7\n"
    "tilewright_four sw, 48, s8, s9, s10, s11\n"
    "mv t0, a1\n"
    "lw a1, 16(a0)\n"
    "lw t3, 24(a0)\n"
    "lw t4, 28(a0)\n"
    "lw t5, 32(a0)\n"
    "lw t6, 36(a0)\n"
    "lw a7, 40(a0)\n"
    "lw a5, 44(a0)\n"
    "lw a6, 48(a0)\n"
    "lw s7, 52(a0)\n"
    "lw a4, 56(a0)\n"
    "li t1, 4\n"
    ".endm\n"

    ".macro tilewright_close_finish\n"
    "sw a1, 16(a0)\n"
    "lw a2, 20(a0)\n"
    "sw t3, 24(a0)\n"
    "addi a2, a2, -1\n"
    "sw a2, 20(a0)\n"
    "sw t4, 28(a0)\n"
    "sw t5, 32(a0)\n"
    "sw t6, 36(a0)\n"
    "lw a7, 12(a0)\n"
    "bnez a2, 2b\n"
    ".endm\n"

    /* On to the next four pixels, behind the last block. */
    ".macro tilewright_next_four\n"
    "lw t0, 72(a0)\n"
    "lw t1, 76(a0)\n"
    "addi t0, t0, -1\n"
    "sw t0, 72(a0)\n"
    "beqz t0, 4f\n"
    "add t3, t3, t1\n"
    "add t4, t4, t1\n"
    "add t5, t5, t1\n"
    "add t6, t6, t1\n"
    "sw t3, 24(a0)\n"
    "sw t4, 28(a0)\n"
    "sw t5, 32(a0)\n"
    "sw t6, 36(a0)\n"
    "lw a7, 80(a0)\n"
    "lw t1, 84(a0)\n"
    "lw t2, 88(a0)\n"
    "sw t1, 16(a0)\n"
    "sw t2, 20(a0)\n"
    "lw a1, 0(a0)\n"
    "lw a2, 4(a0)\n"
    "3:\n"
    "lw t3, 0(a1)\n"
    "lw t4, 4(a1)\n"
    "lw t5, 8(a1)\n"
    "lw t6, 12(a1)\n"
    "lw t0, 16(a1)\n"
    "addi a1, a1, 20\n"
    "add t3, t3, t0\n"
    "add t4, t4, t0\n"
    "add t5, t5, t0\n"
    "add t6, t6, t0\n"
    "sw t3, -20(a1)\n"
    "sw t4, -16(a1)\n"
    "sw t5, -12(a1)\n"
    "sw t6, -8(a1)\n"
    "bne a1, a2, 3b\n"
    "j 2b\n"
    "4:\n"
    ".endm\n"

    ".macro tilewright_load_sums\n"
    "tilewright_p_lw s0, t0\n"
    "tilewright_p_lw s1, t0\n"
    "tilewright_p_lw s2, t0\n"
    "tilewright_p_lw s3, t0\n"
    ".endm\n"

    ".macro tilewright_each op, other\n"
    "\\op s0, s0, \\other\n"
    "\\op s1, s1, \\other\n"
    "\\op s2, s2, \\other\n"
    "\\op s3, s3, \\other\n"
    ".endm\n"

    ".macro tilewright_store\n"
    "tilewright_each sra, a4\n"
    "tilewright_each tilewright_p_max, a5\n"
    "tilewright_each tilewright_p_min, a6\n"
    "tilewright_p_sb s0, t3, a7\n"
    "tilewright_p_sb s1, t4, a7\n"
    "tilewright_p_sb s2, t5, a7\n"
    "tilewright_p_sb s3, t6, a7\n"
    ".endm\n"

    /* (sum * multiplier + addend) >> a4; 29 instructions after the first. */
    ".macro tilewright_folded\n"
    "tilewright_lp_setup t1, 58\n"
    "tilewright_p_lw a2, a1\n"
    "tilewright_p_lw s4, a1\n"
    "tilewright_load_sums\n"
    "mv s5, s4\n"
    "mv s6, s4\n"
    "mv a3, s4\n"
    "tilewright_p_mac s4, s0, a2\n"
    "tilewright_p_mac s5, s1, a2\n"
    "tilewright_p_mac s6, s2, a2\n"
    "tilewright_p_mac a3, s3, a2\n"
    "sra s0, s4, a4\n"
    "sra s1, s5, a4\n"
    "sra s2, s6, a4\n"
    "sra s3, a3, a4\n"
    "tilewright_each tilewright_p_max, a5\n"
    "tilewright_each tilewright_p_min, a6\n"
    "tilewright_p_sb s0, t3, a7\n"
    "tilewright_p_sb s1, t4, a7\n"
    "tilewright_p_sb s2, t5, a7\n"
    "tilewright_p_sb s3, t6, a7\n"
    ".endm\n"

    /* (high word of sum * multiplier + s7) >> a4; 30 instructions after the first. */
    ".macro tilewright_high\n"
    "tilewright_lp_setup t1, 60\n"
    "lw a2, 4(a1)\n"
    "addi a1, a1, 8\n"
    "tilewright_load_sums\n"
    "tilewright_each mulh, a2\n"
    "tilewright_each add, s7\n"
    "tilewright_store\n"
    ".endm\n"
    /* The same with each channel's own addend and shift; two more. */
    ".macro tilewright_own\n"
    "tilewright_lp_setup t1, 64\n"
    "lw a2, 4(a1)\n"
    "lw s7, 8(a1)\n"
    "lw a4, 12(a1)\n"
    "addi a1, a1, 16\n"
    "tilewright_load_sums\n"
    "tilewright_each mulh, a2\n"
    "tilewright_each add, s7\n"
    "tilewright_store\n"
    ".endm\n"
);

#define TILEWRIGHT_SUMS(name, dot)                                                                 \
    __asm__("tilewright_begin " name "\n"                                                          \
            "lw a1, 60(a0)\n"                                                                      \
            "tilewright_four lw, 0, ra, t0, t1, t2\n"                                              \
            "tilewright_four lw, 16, s0, s1, s2, s3\n"                                             \
            "tilewright_four lw, 32, s4, s5, s6, s7\n"                                             \
            "tilewright_four lw, 48, s8, s9, s10, s11\n"                                           \
            "tilewright_multiply " dot "\n"                                                        \
            "lw a1, 64(a0)\n"                                                                      \
            "nop\n"                                                                                \
            "tilewright_four sw, 0, ra, t0, t1, t2\n"                                              \
            "tilewright_four sw, 16, s0, s1, s2, s3\n"                                             \
            "tilewright_four sw, 32, s4, s5, s6, s7\n"                                             \
            "tilewright_four sw, 48, s8, s9, s10, s11\n"                                           \
            "tilewright_end " name "\n")

TILEWRIGHT_SUMS("tilewright_xpulpv2_sums_signed", "0x5c");
TILEWRIGHT_SUMS("tilewright_xpulpv2_sums_unsigned", "0x54");

/* `begin` sets the sums of a channel, `finish` is the rule; rows are `row` bytes. */
#define TILEWRIGHT_FINISHED(name, dot, begin, finish, row)                                         \
    __asm__("tilewright_begin " name "\n"                                                          \
            "2:\n"                                                                                 \
            "lw a1, 16(a0)\n"                                                                      \
            "nop\n"                                                                                \
            begin " 0, ra, t0, t1, t2\n"                                                           \
            begin " " row ", s0, s1, s2, s3\n"                                                     \
            begin " 2*" row ", s4, s5, s6, s7\n"                                                   \
            begin " 3*" row ", s8, s9, s10, s11\n"                                                 \
            "tilewright_multiply " dot "\n"                                                        \
            "tilewright_open_finish\n"                                                             \
            finish "\n"  \
            "tilewright_close_finish\n" \
            "tilewright_next_four\n" \
            "tilewright_end " name "\n")

TILEWRIGHT_FINISHED("tilewright_xpulpv2_folded_signed", "0x5c", "tilewright_zero",
                    "tilewright_folded", "8");
TILEWRIGHT_FINISHED("tilewright_xpulpv2_folded_unsigned", "0x54", "tilewright_zero",
                    "tilewright_folded", "8");
TILEWRIGHT_FINISHED("tilewright_xpulpv2_layer_signed", "0x5c", "tilewright_bias", "tilewright_high",
                    "8");
TILEWRIGHT_FINISHED("tilewright_xpulpv2_layer_unsigned", "0x54", "tilewright_bias",
                    "tilewright_high", "8");
TILEWRIGHT_FINISHED("tilewright_xpulpv2_high_signed", "0x5c", "tilewright_bias", "tilewright_own",
                    "16");
TILEWRIGHT_FINISHED("tilewright_xpulpv2_high_unsigned", "0x54", "tilewright_bias", "tilewright_own",
                    "16");
/* clang-format on */

#endif
