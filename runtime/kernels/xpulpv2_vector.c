/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_vector.h"

#if defined(__riscv) && __riscv_xlen == 32

_Static_assert(offsetof(struct tilewright_xpulpv2_vector, step) == 20 &&
                   offsetof(struct tilewright_xpulpv2_vector, limits.minimum) == 28 &&
                   offsetof(struct tilewright_xpulpv2_vector, limits.shift) == 40,
               "the assembler knows where the fields are");

/* clang-format off */
/* a0 the work, a1 the vector, a2 its words, a3 the weights, a4 the constants, a5 results, a6 their
 * step, a7 blocks left; t0 the next word of the vector, t1 a word of the vector, t2 to t5 words of
 * four channels; s0 to s3 the sums, s4 and s5 the clamp, s6 addend and s7 shift of the layer. Each
 * instruction leaves alone the register that the instruction before it loads. */
__asm__(
    ".macro tilewright_vector_saved op\n"
    "\\op s0, 0(sp)\n\\op s1, 4(sp)\n\\op s2, 8(sp)\n\\op s3, 12(sp)\n"
    "\\op s4, 16(sp)\n\\op s5, 20(sp)\n\\op s6, 24(sp)\n\\op s7, 28(sp)\n"
    ".endm\n"
    /* p.lw of the next word. */
    ".macro tilewright_vector_load rd, rs1\n"
    ".insn i 0x0b, 2, \\rd, 4(\\rs1)\n"
    ".endm\n"
    /* Hardware loop 0 over the words of the vector: nine instructions. */
    ".macro tilewright_vector_multiply dot\n"
    "mv t0, a1\n"
    ".insn i 0x7b, 4, x0, a2, 2 * 9\n"
    "tilewright_vector_load t1, t0\n"
    "tilewright_vector_load t2, a3\n"
    "tilewright_vector_load t3, a3\n"
    "tilewright_vector_load t4, a3\n"
    "tilewright_vector_load t5, a3\n"
    ".insn r 0x57, 1, \\dot, s0, t1, t2\n"
    ".insn r 0x57, 1, \\dot, s1, t1, t3\n"
    ".insn r 0x57, 1, \\dot, s2, t1, t4\n"
    ".insn r 0x57, 1, \\dot, s3, t1, t5\n"
    ".endm\n"

    ".macro tilewright_vector_open name\n"
    ".section .text.\\name, \"ax\", @progbits\n"
    ".option push\n"
    ".option norvc\n"
    ".balign 16\n"
    ".globl \\name\n"
    ".type \\name, @function\n"
    "\\name:\n"
    "addi sp, sp, -32\n"
    "tilewright_vector_saved sw\n"
    "lw a1, 0(a0)\n"
    "lw a2, 4(a0)\n"
    "lw a3, 8(a0)\n"
    "lw a4, 12(a0)\n"
    "lw a5, 16(a0)\n"
    ".endm\n"
    ".macro tilewright_vector_close name\n"
    "sw a3, 8(a0)\n"
    "tilewright_vector_saved lw\n"
    "addi sp, sp, 32\n"
    "ret\n"
    ".size \\name, . - \\name\n"
    ".option pop\n"
    ".previous\n"
    ".endm\n"

    ".macro tilewright_vector_sums name, dot\n"
    "tilewright_vector_open \\name\n"
    "lw s0, 0(a5)\nlw s1, 4(a5)\nlw s2, 8(a5)\nlw s3, 12(a5)\n"
    "tilewright_vector_multiply \\dot\n"
    "sw s0, 0(a5)\nsw s1, 4(a5)\nsw s2, 8(a5)\nsw s3, 12(a5)\n"
    "tilewright_vector_close \\name\n"
    ".endm\n"

    /* First values of the sums, by rule. */
    ".macro tilewright_vector_begin_folded\n"
    "li s0, 0\nli s1, 0\nli s2, 0\nli s3, 0\n"
    ".endm\n"
    ".macro tilewright_vector_begin_layer\n"
    "lw s0, 0(a4)\nlw s1, 8(a4)\nlw s2, 16(a4)\nlw s3, 24(a4)\n"
    ".endm\n"
    ".macro tilewright_vector_begin_high\n"
    "lw s0, 0(a4)\nlw s1, 16(a4)\nlw s2, 32(a4)\nlw s3, 48(a4)\n"
    ".endm\n"
    ".macro tilewright_vector_begin_away\n"
    "tilewright_vector_begin_high\n"
    ".endm\n"
    /* The results of two channels whose constants begin at `at`: p.max, p.min, p.sb. */
    ".macro tilewright_vector_store first, second\n"
    ".insn r 0x33, 6, 0x02, \\first, \\first, s4\n"
    ".insn r 0x33, 6, 0x02, \\second, \\second, s4\n"
    ".insn r 0x33, 4, 0x02, \\first, \\first, s5\n"
    ".insn r 0x33, 4, 0x02, \\second, \\second, s5\n"
    ".insn r 0x2b, 4, 0, a6, a5, \\first\n"
    ".insn r 0x2b, 4, 0, a6, a5, \\second\n"
    ".endm\n"
    /* p.mac, which takes a cycle in GVSoC, where mul takes two. */
    ".macro tilewright_vector_folded first, second, at\n"
    "lw t1, 8*\\at+4(a4)\n"
    "lw t2, 8*\\at+12(a4)\n"
    "lw t3, 8*\\at(a4)\n"
    "lw t4, 8*\\at+8(a4)\n"
    ".insn r 0x33, 0, 0x21, t1, \\first, t3\n"
    ".insn r 0x33, 0, 0x21, t2, \\second, t4\n"
    "sra t1, t1, s7\n"
    "sra t2, t2, s7\n"
    "tilewright_vector_store t1, t2\n"
    ".endm\n"
    /* mulh, p.addNr */
    ".macro tilewright_vector_layer first, second, at\n"
    "lw t1, 8*\\at+4(a4)\n"
    "lw t2, 8*\\at+12(a4)\n"
    "mulh t1, \\first, t1\n"
    "mulh t2, \\second, t2\n"
    ".insn r 0x5b, 2, 0x20, t1, s6, s7\n"
    ".insn r 0x5b, 2, 0x20, t2, s6, s7\n"
    "tilewright_vector_store t1, t2\n"
    ".endm\n"
    ".macro tilewright_vector_high first, second, at\n"
    "lw t1, 16*\\at+4(a4)\n"
    "lw t2, 16*\\at+20(a4)\n"
    "mulh t1, \\first, t1\n"
    "lw t3, 16*\\at+8(a4)\n"
    "mulh t2, \\second, t2\n"
    "lw t4, 16*\\at+24(a4)\n"
    "lw t5, 16*\\at+12(a4)\n"
    "lw t6, 16*\\at+28(a4)\n"
    ".insn r 0x5b, 2, 0x20, t1, t3, t5\n"
    ".insn r 0x5b, 2, 0x20, t2, t4, t6\n"
    "tilewright_vector_store t1, t2\n"
    ".endm\n"
    /* mulhsu, less 1 for sums below the bound above the shift; p.addNr */
    ".macro tilewright_vector_away first, second, at\n"
    "lw t1, 16*\\at+4(a4)\n"
    "lw t2, 16*\\at+20(a4)\n"
    "lw t5, 16*\\at+12(a4)\n"
    "lw t6, 16*\\at+28(a4)\n"
    "mulhsu t1, \\first, t1\n"
    "mulhsu t2, \\second, t2\n"
    "srai t3, t5, 8\n"
    "srai t4, t6, 8\n"
    "slt t3, \\first, t3\n"
    "slt t4, \\second, t4\n"
    "sub t1, t1, t3\n"
    "sub t2, t2, t4\n"
    "lw t3, 16*\\at+8(a4)\n"
    "lw t4, 16*\\at+24(a4)\n"
    ".insn r 0x5b, 2, 0x20, t1, t3, t5\n"
    ".insn r 0x5b, 2, 0x20, t2, t4, t6\n"
    "tilewright_vector_store t1, t2\n"
    ".endm\n"
    ".macro tilewright_vector_finished name, dot, rule, row\n"
    "tilewright_vector_open \\name\n"
    "lw a6, 20(a0)\n"
    "lw a7, 24(a0)\n"
    "lw s4, 28(a0)\n"
    "lw s5, 32(a0)\n"
    "lw s6, 36(a0)\n"
    "lw s7, 40(a0)\n"
    "1:\n"
    "tilewright_vector_begin_\\rule\n"
    "tilewright_vector_multiply \\dot\n"
    "tilewright_vector_\\rule s0, s1, 0\n"
    "tilewright_vector_\\rule s2, s3, 2\n"
    "addi a4, a4, 4*\\row\n"
    "addi a7, a7, -1\n"
    "bnez a7, 1b\n"
    "sw a4, 12(a0)\n"
    "sw a5, 16(a0)\n"
    "tilewright_vector_close \\name\n"
    ".endm\n"
    "tilewright_vector_sums tilewright_xpulpv2_vector_sums_signed, 0x5c\n"
    "tilewright_vector_sums tilewright_xpulpv2_vector_sums_unsigned, 0x54\n"
    "tilewright_vector_finished tilewright_xpulpv2_vector_folded_signed, 0x5c, folded, 8\n"
    "tilewright_vector_finished tilewright_xpulpv2_vector_folded_unsigned, 0x54, folded, 8\n"
    "tilewright_vector_finished tilewright_xpulpv2_vector_layer_signed, 0x5c, layer, 8\n"
    "tilewright_vector_finished tilewright_xpulpv2_vector_layer_unsigned, 0x54, layer, 8\n"
    "tilewright_vector_finished tilewright_xpulpv2_vector_high_signed, 0x5c, high, 16\n"
    "tilewright_vector_finished tilewright_xpulpv2_vector_high_unsigned, 0x54, high, 16\n"
    "tilewright_vector_finished tilewright_xpulpv2_vector_away_signed, 0x5c, away, 16\n"
    "tilewright_vector_finished tilewright_xpulpv2_vector_away_unsigned, 0x54, away, 16\n"
);
/* clang-format on */

#else

static void multiply(struct tilewright_xpulpv2_vector *work, int32_t *sums,
                     const int32_t is_unsigned)
{
    const int8_t *w = work->weights;
    for (int32_t i = 0; i < 4 * work->words; i += 4) {
        for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
            for (int32_t k = 0; k < 4; k++) {
                const uint8_t x = work->x[i + k];
                sums[c] += *w++ * (is_unsigned != 0 ? x : (int8_t)x);
            }
        }
    }
    work->weights = w;
}

static void all(struct tilewright_xpulpv2_vector *work, const struct tilewright_rule *rule,
                const int32_t is_unsigned)
{
    struct tilewright_sink sink = {.pixels = 1, .row_words = rule->row_words};
    sink.channel_stride = work->step;
    sink.pixel[0] = work->y;
    sink.limits = work->limits;
    for (int32_t left = work->blocks; left > 0; left--) {
        int32_t sums[TILEWRIGHT_BLOCK];
        for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
            sums[c] = rule->biased != 0 ? work->rows[c * rule->row_words] : 0;
        }
        multiply(work, sums, is_unsigned);
        rule->finish(&sink, sums, work->rows, TILEWRIGHT_BLOCK);
        work->rows += TILEWRIGHT_BLOCK * rule->row_words;
    }
    work->y = sink.pixel[0];
}

void tilewright_xpulpv2_vector_sums_signed(struct tilewright_xpulpv2_vector *work)
{
    multiply(work, (int32_t *)(void *)work->y, 0);
}

void tilewright_xpulpv2_vector_sums_unsigned(struct tilewright_xpulpv2_vector *work)
{
    multiply(work, (int32_t *)(void *)work->y, 1);
}

#define TILEWRIGHT_VECTOR(name)                                                                    \
    void tilewright_xpulpv2_vector_##name##_signed(struct tilewright_xpulpv2_vector *work)         \
    {                                                                                              \
        all(work, &tilewright_rule_##name, 0);                                                     \
    }                                                                                              \
    void tilewright_xpulpv2_vector_##name##_unsigned(struct tilewright_xpulpv2_vector *work)       \
    {                                                                                              \
        all(work, &tilewright_rule_##name, 1);                                                     \
    }

TILEWRIGHT_VECTOR(folded)
TILEWRIGHT_VECTOR(layer)
TILEWRIGHT_VECTOR(high)
TILEWRIGHT_VECTOR(away)

#endif
