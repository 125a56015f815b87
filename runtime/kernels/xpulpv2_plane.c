/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_plane.h"

#if defined(__riscv) && __riscv_xlen == 32

_Static_assert(offsetof(struct tilewright_xpulpv2_plane, out) == 36 &&
                   offsetof(struct tilewright_xpulpv2_plane, maximum) == 60 &&
                   offsetof(struct tilewright_xpulpv2_plane, pairs) == 64,
               "the assembler knows where the fields are");

/* clang-format off */
/* a0 the plane, t0 to t2 the rows of the window, a1 to a3 weights, a4 the step down, a5 results, a6
 * their step, a7 outputs of a column, t3 the sum, t4 multiplier, t5 addend, t6 shift, s0 and s1 the
 * clamp, s2 to s4 words of the window, s5 the bias, s6 the finished value; of a pair's second column
 * s7 to s9 weights, s10 results. */
__asm__(
    ".macro tilewright_plane_saved op\n"
    "\\op s0, 0(sp)\n\\op s1, 4(sp)\n\\op s2, 8(sp)\n\\op s3, 12(sp)\n\\op s4, 16(sp)\n"
    "\\op s5, 20(sp)\n\\op s6, 24(sp)\n\\op s7, 28(sp)\n\\op s8, 32(sp)\n\\op s9, 36(sp)\n"
    "\\op s10, 40(sp)\n"
    ".endm\n"
    /* Goes to the next column if there is one, or to the next pair of columns. */
    ".macro tilewright_next_column again\n"
    "lw t0, 0(a0)\n"
    "lw s2, 12(a0)\n"
    "lw s3, 44(a0)\n"
    "lw t3, 52(a0)\n"
    "lw a5, 36(a0)\n"
    "add t0, t0, s2\n"
    "add a5, a5, s3\n"
    "addi t3, t3, -1\n"
    "sw t0, 0(a0)\n"
    "sw a5, 36(a0)\n"
    "sw t3, 52(a0)\n"
    "bnez t3, \\again\n"
    ".endm\n"
    ".macro tilewright_next_pair again\n"
    "lw t0, 0(a0)\n"
    "lw s2, 12(a0)\n"
    "lw s3, 44(a0)\n"
    "lw t3, 64(a0)\n"
    "add t0, t0, s2\n"
    "add t0, t0, s2\n"
    "lw a5, 36(a0)\n"
    "addi t3, t3, -1\n"
    "sw t0, 0(a0)\n"
    "add a5, a5, s3\n"
    "add a5, a5, s3\n"
    "sw a5, 36(a0)\n"
    "sw t3, 64(a0)\n"
    "bnez t3, \\again\n"
    ".endm\n"
    /* Sums up the products of three rows, from 0 or from the bias. */
    ".macro tilewright_dots_zero dot, first, second, third, w0, w1, w2\n"
    ".insn r 0x57, 1, \\dot - 0x10, t3, \\first, \\w0\n"
    ".insn r 0x57, 1, \\dot, t3, \\second, \\w1\n"
    ".insn r 0x57, 1, \\dot, t3, \\third, \\w2\n"
    ".endm\n"
    ".macro tilewright_dots_bias dot, first, second, third, w0, w1, w2\n"
    "mv t3, s5\n"
    ".insn r 0x57, 1, \\dot, t3, \\first, \\w0\n"
    ".insn r 0x57, 1, \\dot, t3, \\second, \\w1\n"
    ".insn r 0x57, 1, \\dot, t3, \\third, \\w2\n"
    ".endm\n"
    /* Loads the third row of an output, or of two neighbours: their taps lie in the same words, and
     * the weights of the second stand a byte further. */
    ".macro tilewright_slide begin, dot, finish, clip, first, second, third\n"
    ".insn r 0x0b, 7, 0x10, \\third, t0, a4\n"
    "tilewright_dots_\\begin \\dot, \\first, \\second, \\third, a1, a2, a3\n"
    "tilewright_plane_\\finish \\clip, a5\n"
    ".endm\n"
    ".macro tilewright_pair begin, dot, finish, clip, first, second, third\n"
    "tilewright_slide \\begin, \\dot, \\finish, \\clip, \\first, \\second, \\third\n"
    "tilewright_dots_\\begin \\dot, \\first, \\second, \\third, s7, s8, s9\n"
    "tilewright_plane_\\finish \\clip, s10\n"
    ".endm\n"
    /* Walks down: t1 times three outputs, then t2 more, each of `length` instructions. */
    ".macro tilewright_walk_down step, length, begin, dot, finish, clip\n"
    ".insn r 0x0b, 7, 0x10, s2, t0, a4\n"
    ".insn r 0x0b, 7, 0x10, s3, t0, a4\n"
    "beqz t1, 5f\n"
    ".insn i 0x7b, 4, x0, t1, 2 * 3 * (\\length)\n"
    "tilewright_\\step \\begin, \\dot, \\finish, \\clip, s2, s3, s4\n"
    "tilewright_\\step \\begin, \\dot, \\finish, \\clip, s3, s4, s2\n"
    "tilewright_\\step \\begin, \\dot, \\finish, \\clip, s4, s2, s3\n"
    "5:\n"
    "beqz t2, 6f\n"
    "tilewright_\\step \\begin, \\dot, \\finish, \\clip, s2, s3, s4\n"
    "addi t3, t2, -1\n"
    "beqz t3, 6f\n"
    "tilewright_\\step \\begin, \\dot, \\finish, \\clip, s3, s4, s2\n"
    "6:\n"
    ".endm\n"
    /* `dot`: function bits of pv.sdotsp.b or pv.sdotusp.b; those of pv.dotsp.b and pv.dotusp.b,
     * which begin from 0, are 0x10 less. `length`: how many instructions the finish has; `added`: 1
     * if sums begin with a bias. */
    ".macro tilewright_plane name, dot, begin, added, finish, clip, length\n"
    ".section .text.\\name, \"ax\", @progbits\n"
    ".option push\n"
    ".option norvc\n"
    ".balign 16\n"
    ".globl \\name\n"
    ".type \\name, @function\n"
    "\\name:\n"
    "addi sp, sp, -48\n"
    "tilewright_plane_saved sw\n"
    "lw a1, 16(a0)\nlw a4, 8(a0)\nlw a2, 4(a1)\nlw a3, 8(a1)\nlw a1, 0(a1)\n"
    "lw a6, 40(a0)\n"
    "lw a7, 48(a0)\n"
    "lw s5, 20(a0)\nlw t4, 24(a0)\nlw t5, 28(a0)\nlw t6, 32(a0)\nlw s0, 56(a0)\nlw s1, 60(a0)\n"
    "lw t1, 4(a0)\n"
    "beq t1, a4, 4f\n"
    "1:\n"
    "lw t0, 0(a0)\n"
    "lw t1, 4(a0)\n"
    "lw a5, 36(a0)\n"
    "add t2, t1, t1\n"
    "add t1, t1, t0\n"
    "add t2, t2, t0\n"
    /* Hardware loop 0: three loads by p.lw with a step, the products and the finish. */
    ".insn i 0x7b, 4, x0, a7, 2 * (6 + \\added + \\length)\n"
    ".insn r 0x0b, 7, 0x10, s2, t0, a4\n"
    ".insn r 0x0b, 7, 0x10, s3, t1, a4\n"
    ".insn r 0x0b, 7, 0x10, s4, t2, a4\n"
    "tilewright_dots_\\begin \\dot, s2, s3, s4, a1, a2, a3\n"
    "tilewright_plane_\\finish \\clip, a5\n"
    "tilewright_next_column 1b\n"
    "3:\n"
    "tilewright_plane_saved lw\n"
    "addi sp, sp, 48\n"
    "ret\n"
    /* Outputs of neighbouring rows of the window: each needs one more row. t1 becomes a third of
     * the outputs (of fewer than 2^15), t2 those that are left. */
    "4:\n"
    "lw t3, 64(a0)\n"
    "li t2, 0x5556\n"
    "mul t1, a7, t2\n"
    "srli t1, t1, 16\n"
    "slli t2, t1, 1\n"
    "add t2, t2, t1\n"
    "sub t2, a7, t2\n"
    "beqz t3, 7f\n"
    "slli s7, a1, 8\nslli s8, a2, 8\nslli s9, a3, 8\n"
    "8:\n"
    "lw s10, 44(a0)\n"
    "lw t0, 0(a0)\n"
    "lw a5, 36(a0)\n"
    "add s10, s10, a5\n"
    "tilewright_walk_down pair, 1 + 2 * (3 + \\added + \\length), \\begin, \\dot, \\finish, \\clip\n"
    "tilewright_next_pair 8b\n"
    "lw t3, 52(a0)\n"
    "nop\n"
    "beqz t3, 3b\n"
    "7:\n"
    "lw t0, 0(a0)\n"
    "lw a5, 36(a0)\n"
    "tilewright_walk_down slide, 4 + \\added + \\length, \\begin, \\dot, \\finish, \\clip\n"
    "tilewright_next_column 7b\n"
    "j 3b\n"
    ".size \\name, . - \\name\n"
    ".option pop\n"
    ".previous\n"
    ".endm\n"

    /* Finishes of a sum, stored at `at`: p.sw with a step, or clamped and stored by p.sb with a
     * step. `clip`: by p.max and p.min (both), by p.clipr (around) or by p.clipur (above). */
    ".macro tilewright_plane_sums clip, at\n"
    ".insn r 0x2b, 6, 0, a6, \\at, t3\n"
    ".endm\n"
    ".macro tilewright_clip_both value\n"
    ".insn r 0x33, 6, 0x02, \\value, \\value, s0\n"
    ".insn r 0x33, 4, 0x02, \\value, \\value, s1\n"
    ".endm\n"
    ".macro tilewright_clip_around value\n"
    ".insn r 0x33, 5, 0x0a, \\value, \\value, s1\n"
    ".endm\n"
    ".macro tilewright_clip_above value\n"
    ".insn r 0x33, 6, 0x0a, \\value, \\value, s1\n"
    ".endm\n"
    /* p.mac, which takes a cycle in GVSoC, where mul takes two. */
    ".macro tilewright_plane_folded clip, at\n"
    "mv s6, t5\n"
    ".insn r 0x33, 0, 0x21, s6, t3, t4\n"
    "sra s6, s6, t6\n"
    "tilewright_clip_\\clip s6\n"
    ".insn r 0x2b, 4, 0, a6, \\at, s6\n"
    ".endm\n"
    /* mulh, p.addNr */
    ".macro tilewright_plane_high clip, at\n"
    "mulh s6, t3, t4\n"
    ".insn r 0x5b, 2, 0x20, s6, t5, t6\n"
    "tilewright_clip_\\clip s6\n"
    ".insn r 0x2b, 4, 0, a6, \\at, s6\n"
    ".endm\n"
    /* Windows of five or seven rows and of five to eight columns: two words for each row. a0 the
     * plane, t0 the window, a1 the step to its next row, a2 the step back to the first row of the
     * next output, t1 and t2 words of the window, t3 the sum and the finished value, a3 to a7, t4 to
     * t6, s2 to s7 weights (with five rows the first ten), s8 multiplier, s9 addend, s10 shift, s0
     * and s1 the clamp, s11 results, ra their step. */
    ".macro tilewright_wide_row dot, left, right\n"
    "lw t1, 4(t0)\n"
    ".insn r 0x0b, 7, 0x10, t2, t0, a1\n"
    ".insn r 0x57, 1, \\dot, t3, t1, \\right\n"
    ".insn r 0x57, 1, \\dot, t3, t2, \\left\n"
    ".endm\n"
    ".macro tilewright_wide_five dot\n"
    "tilewright_wide_row \\dot, a3, a4\n"
    "tilewright_wide_row \\dot, a5, a6\n"
    "tilewright_wide_row \\dot, a7, t4\n"
    "tilewright_wide_row \\dot, t5, t6\n"
    "tilewright_wide_row \\dot, s2, s3\n"
    ".endm\n"
    ".macro tilewright_wide_seven dot\n"
    "tilewright_wide_five \\dot\n"
    "tilewright_wide_row \\dot, s4, s5\n"
    "tilewright_wide_row \\dot, s6, s7\n"
    ".endm\n"
    /* The step back: a1 is the step to the next row, a2 the step to the next output. */
    ".macro tilewright_back_five\n"
    "slli t1, a1, 2\n"
    "sub a2, a2, a1\n"
    "sub a2, a2, t1\n"
    ".endm\n"
    ".macro tilewright_back_seven\n"
    "slli t1, a1, 3\n"
    "add a2, a2, a1\n"
    "sub a2, a2, t1\n"
    ".endm\n"
    ".macro tilewright_wide_saved op\n"
    "\\op ra, 0(sp)\n\\op s0, 4(sp)\n\\op s1, 8(sp)\n\\op s2, 12(sp)\n\\op s3, 16(sp)\n"
    "\\op s4, 20(sp)\n\\op s5, 24(sp)\n\\op s6, 28(sp)\n\\op s7, 32(sp)\n\\op s8, 36(sp)\n"
    "\\op s9, 40(sp)\n\\op s10, 44(sp)\n\\op s11, 48(sp)\n"
    ".endm\n"
    /* `length`: how many instructions the rows and the finish have. */
    ".macro tilewright_wide name, rows, dot, finish, clip, length\n"
    ".section .text.\\name, \"ax\", @progbits\n"
    ".option push\n"
    ".option norvc\n"
    ".balign 16\n"
    ".globl \\name\n"
    ".type \\name, @function\n"
    "\\name:\n"
    "addi sp, sp, -64\n"
    "tilewright_wide_saved sw\n"
    "lw t0, 16(a0)\n"
    "lw a1, 4(a0)\n"
    "lw a2, 8(a0)\n"
    "lw a3, 0(t0)\nlw a4, 4(t0)\nlw a5, 8(t0)\nlw a6, 12(t0)\nlw a7, 16(t0)\n"
    "lw t4, 20(t0)\nlw t5, 24(t0)\nlw t6, 28(t0)\nlw s2, 32(t0)\nlw s3, 36(t0)\n"
    "tilewright_weights_\\rows\n"
    "tilewright_back_\\rows\n"
    "lw s8, 24(a0)\nlw s9, 28(a0)\nlw s10, 32(a0)\nlw ra, 40(a0)\nlw s0, 56(a0)\nlw s1, 60(a0)\n"
    "1:\n"
    "lw t1, 48(a0)\n"
    "lw t0, 0(a0)\n"
    "lw s11, 36(a0)\n"
    /* Hardware loop 0: a load of the bias, the rows, the step back and the finish. */
    ".insn i 0x7b, 4, x0, t1, 2 * (2 + \\length)\n"
    "lw t3, 20(a0)\n"
    "tilewright_wide_\\rows \\dot\n"
    "add t0, t0, a2\n"
    "tilewright_wide_\\finish \\clip\n"
    "lw t0, 0(a0)\n"
    "lw t1, 12(a0)\n"
    "lw t2, 44(a0)\n"
    "lw t3, 52(a0)\n"
    "lw s11, 36(a0)\n"
    "add t0, t0, t1\n"
    "add s11, s11, t2\n"
    "addi t3, t3, -1\n"
    "sw t0, 0(a0)\n"
    "sw s11, 36(a0)\n"
    "sw t3, 52(a0)\n"
    "bnez t3, 1b\n"
    "tilewright_wide_saved lw\n"
    "addi sp, sp, 64\n"
    "ret\n"
    ".size \\name, . - \\name\n"
    ".option pop\n"
    ".previous\n"
    ".endm\n"
    ".macro tilewright_weights_five\n"
    ".endm\n"
    ".macro tilewright_weights_seven\n"
    "lw s4, 40(t0)\nlw s5, 44(t0)\nlw s6, 48(t0)\nlw s7, 52(t0)\n"
    ".endm\n"
    ".macro tilewright_wide_sums clip\n"
    ".insn r 0x2b, 6, 0, ra, s11, t3\n"
    ".endm\n"
    ".macro tilewright_wide_folded clip\n"
    "mv t1, s9\n"
    ".insn r 0x33, 0, 0x21, t1, t3, s8\n"
    "sra t3, t1, s10\n"
    "tilewright_clip_\\clip t3\n"
    ".insn r 0x2b, 4, 0, ra, s11, t3\n"
    ".endm\n"
    ".macro tilewright_wide_high clip\n"
    "mulh t3, t3, s8\n"
    ".insn r 0x5b, 2, 0x20, t3, s9, s10\n"
    "tilewright_clip_\\clip t3\n"
    ".insn r 0x2b, 4, 0, ra, s11, t3\n"
    ".endm\n"
    /* All functions for one sign, and one clamp: of three rows, of five and of seven. */
    ".macro tilewright_planes_summed sign, dot\n"
    "tilewright_plane tilewright_xpulpv2_plane_sums_\\sign, \\dot, bias, 1, sums, both, 1\n"
    "tilewright_wide tilewright_xpulpv2_five_sums_\\sign, five, \\dot, sums, both, 20 + 1\n"
    "tilewright_wide tilewright_xpulpv2_seven_sums_\\sign, seven, \\dot, sums, both, 28 + 1\n"
    ".endm\n"
    ".macro tilewright_planes_finished sign, dot, clip, length\n"
    "tilewright_plane tilewright_xpulpv2_plane_folded_\\clip\\()_\\sign, \\dot, zero, 0, folded, \\clip, 4 + \\length\n"
    "tilewright_plane tilewright_xpulpv2_plane_high_\\clip\\()_\\sign, \\dot, bias, 1, high, \\clip, 3 + \\length\n"
    "tilewright_wide tilewright_xpulpv2_five_folded_\\clip\\()_\\sign, five, \\dot, folded, \\clip, 20 + 4 + \\length\n"
    "tilewright_wide tilewright_xpulpv2_five_high_\\clip\\()_\\sign, five, \\dot, high, \\clip, 20 + 3 + \\length\n"
    "tilewright_wide tilewright_xpulpv2_seven_folded_\\clip\\()_\\sign, seven, \\dot, folded, \\clip, 28 + 4 + \\length\n"
    "tilewright_wide tilewright_xpulpv2_seven_high_\\clip\\()_\\sign, seven, \\dot, high, \\clip, 28 + 3 + \\length\n"
    ".endm\n"
    ".macro tilewright_planes sign, dot\n"
    "tilewright_planes_summed \\sign, \\dot\n"
    "tilewright_planes_finished \\sign, \\dot, both, 2\n"
    "tilewright_planes_finished \\sign, \\dot, around, 1\n"
    "tilewright_planes_finished \\sign, \\dot, above, 1\n"
    ".endm\n"
    "tilewright_planes signed, 0x5c\n"
    "tilewright_planes unsigned, 0x54\n"
);
/* clang-format on */

#else

enum finish { SUMS, FOLDED, HIGH };

static void store(const struct tilewright_xpulpv2_plane *plane, uint8_t *out, int32_t sum,
                  const enum finish finish)
{
    int32_t value = (int32_t)((uint32_t)sum * (uint32_t)plane->multiplier);
    if (finish == SUMS) {
        *(int32_t *)(void *)out = sum;
        return;
    }
    if (finish == HIGH) {
        value = (int32_t)(((int64_t)sum * plane->multiplier) >> 32);
    }
    value = (int32_t)((uint32_t)value + (uint32_t)plane->addend) >> (plane->shift & 31);
    *out = (uint8_t)tilewright_limit(value, plane->minimum, plane->maximum);
}

static void all(struct tilewright_xpulpv2_plane *plane, const int32_t is_unsigned,
                const int32_t kernel_rows, const enum finish finish)
{
    plane->columns += 2 * plane->pairs;
    for (; plane->columns > 0; plane->columns--) {
        for (int32_t i = 0; i < plane->rows; i++) {
            const uint8_t *x = plane->bytes + i * plane->down;
            const int32_t sum = tilewright_xpulpv2_sum(plane, x, is_unsigned, kernel_rows);
            store(plane, plane->out + i * plane->out_down, sum, finish);
        }
        plane->bytes += plane->across;
        plane->out += plane->out_across;
    }
    plane->pairs = 0;
}

#define TILEWRIGHT_PLANE(shape, rows, name, finish)                                                \
    void tilewright_xpulpv2_##shape##_##name##_signed(struct tilewright_xpulpv2_plane *plane)      \
    {                                                                                              \
        all(plane, 0, rows, finish);                                                               \
    }                                                                                              \
    void tilewright_xpulpv2_##shape##_##name##_unsigned(struct tilewright_xpulpv2_plane *plane)    \
    {                                                                                              \
        all(plane, 1, rows, finish);                                                               \
    }

#define TILEWRIGHT_PLANES(shape, rows)                                                             \
    TILEWRIGHT_PLANE(shape, rows, sums, SUMS)                                                      \
    TILEWRIGHT_PLANE(shape, rows, folded_both, FOLDED)                                             \
    TILEWRIGHT_PLANE(shape, rows, folded_around, FOLDED)                                           \
    TILEWRIGHT_PLANE(shape, rows, folded_above, FOLDED)                                            \
    TILEWRIGHT_PLANE(shape, rows, high_both, HIGH)                                                 \
    TILEWRIGHT_PLANE(shape, rows, high_around, HIGH)                                               \
    TILEWRIGHT_PLANE(shape, rows, high_above, HIGH)

TILEWRIGHT_PLANES(plane, 3)
TILEWRIGHT_PLANES(five, 5)
TILEWRIGHT_PLANES(seven, 7)

#endif
