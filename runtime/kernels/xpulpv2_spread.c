/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_plane.h"

#if defined(__riscv) && __riscv_xlen == 32

/* clang-format off */
__asm__(
    ".macro tilewright_spread_saved op\n"
    "\\op s0, 0(sp)\n\\op s1, 4(sp)\n\\op s2, 8(sp)\n\\op s3, 12(sp)\n\\op s4, 16(sp)\n"
    "\\op s5, 20(sp)\n\\op s6, 24(sp)\n\\op s7, 28(sp)\n\\op s8, 32(sp)\n"
    ".endm\n"
    /* Four pixels of four channels each become a word of each channel: t0 to t2 and s5 the pixels,
     * then with s6 and s7 the words; t3 to t6 say which bytes pv.shuffle2.b takes. */
    ".macro tilewright_spread_four\n"
    ".insn r 0x0b, 7, 0x10, t0, a1, a2\n"
    ".insn r 0x0b, 7, 0x10, t1, a1, a2\n"
    ".insn r 0x0b, 7, 0x10, t2, a1, a2\n"
    ".insn r 0x0b, 7, 0x10, s5, a1, a2\n"
    "mv s6, t0\n"
    "mv s7, t2\n"
    ".insn r 0x57, 1, 0x64, t0, t1, t3\n"
    ".insn r 0x57, 1, 0x64, s6, t1, t4\n"
    ".insn r 0x57, 1, 0x64, t2, s5, t3\n"
    ".insn r 0x57, 1, 0x64, s7, s5, t4\n"
    "mv t1, t0\n"
    "mv s5, s6\n"
    ".insn r 0x57, 1, 0x64, t0, t2, t5\n"
    ".insn r 0x57, 1, 0x64, t1, t2, t6\n"
    ".insn r 0x57, 1, 0x64, s6, s7, t5\n"
    ".insn r 0x57, 1, 0x64, s5, s7, t6\n"
    /* p.sw with a step: to the words of the next channel, and back to the next of the first. */
    ".insn r 0x2b, 6, 0, a3, a0, t0\n"
    ".insn r 0x2b, 6, 0, a3, a0, t1\n"
    ".insn r 0x2b, 6, 0, a3, a0, s6\n"
    ".insn r 0x2b, 6, 0, a4, a0, s5\n"
    ".endm\n"
    /* Of each of a5 rows, the pixels in fours; the last four begin earlier where a row ends. a0 the
     * words of the first channel, a1 the pixels, a2 the step to the next pixel, a3 the step to the
     * words of the next channel, a4 how many pixels (at least four), a6 and a7 the steps to the
     * next row of words and of pixels; s0 and s1 the row, s2 whole fours, s3 pixels left, s4 and s8
     * the steps back to the last four. */
    ".section .text.tilewright_xpulpv2_spread, \"ax\", @progbits\n"
    ".option push\n"
    ".option norvc\n"
    ".balign 16\n"
    ".globl tilewright_xpulpv2_spread\n"
    ".type tilewright_xpulpv2_spread, @function\n"
    "tilewright_xpulpv2_spread:\n"
    "addi sp, sp, -48\n"
    "tilewright_spread_saved sw\n"
    "li t3, 0x05010400\nli t4, 0x07030602\nli t5, 0x05040100\nli t6, 0x07060302\n"
    "mv s0, a0\n"
    "mv s1, a1\n"
    "srli s2, a4, 2\n"
    "andi s3, a4, 3\n"
    "li s4, 4\n"
    "sub s4, s4, s3\n"
    "mul s8, s4, a2\n"
    "slli a4, a3, 1\n"
    "add a4, a4, a3\n"
    "neg a4, a4\n"
    "addi a4, a4, 4\n"
    "1:\n"
    ".insn i 0x7b, 4, x0, s2, 2 * 20\n"
    "tilewright_spread_four\n"
    "beqz s3, 2f\n"
    "sub a0, a0, s4\n"
    "sub a1, a1, s8\n"
    "tilewright_spread_four\n"
    "2:\n"
    "add s0, s0, a6\n"
    "add s1, s1, a7\n"
    "addi a5, a5, -1\n"
    "mv a0, s0\n"
    "mv a1, s1\n"
    "bnez a5, 1b\n"
    "tilewright_spread_saved lw\n"
    "addi sp, sp, 48\n"
    "ret\n"
    ".size tilewright_xpulpv2_spread, . - tilewright_xpulpv2_spread\n"
    ".option pop\n"
    ".previous\n"
);
/* clang-format on */

#else

void tilewright_xpulpv2_spread(uint8_t *to, const uint8_t *from, int32_t stride, int32_t apart,
                               int32_t pixels, int32_t rows, int32_t pitch, int32_t row_stride)
{
    for (; rows > 0; rows--) {
        const uint8_t *pixel = from;
        for (int32_t i = 0; i < pixels; i++) {
            for (int32_t c = 0; c < 4; c++) {
                to[c * apart + i] = pixel[c];
            }
            pixel += stride;
        }
        to += pitch;
        from += row_stride;
    }
}

#endif
