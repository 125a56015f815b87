/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of Xpulpv2 as text for assembler statements in C, for assemblers that do not know
 * them. Registers are strings, as "%[sum]". */
#ifndef TILEWRIGHT_KERNELS_XPULPV2_WORDS_H
#define TILEWRIGHT_KERNELS_XPULPV2_WORDS_H

#if defined(__riscv) && __riscv_xlen == 32

/* Opens hardware loop 0 over the instructions up to XPULPV2_LOOP_END; `length` is twice their
 * number, at least 6. The loop begins at a whole word and has no compressed instructions. */
#define XPULPV2_LOOP(count, length)                                                                \
    ".option push\n.option rvc\n.balign 4\n.option norvc\n"                                        \
    ".insn i 0x7b, 4, x0, " count ", " length "\n"
#define XPULPV2_LOOP_END ".option pop\n"

/* p.lw: loads the word at the address `at`, which moves on by 4. */
#define XPULPV2_LOAD_WORD(to, at) ".insn i 0x0b, 2, " to ", 4(" at ")\n"
/* p.lw by register: the address moves on by `step`. */
#define XPULPV2_LOAD_WORD_STEP(to, at, step) ".insn r 0x0b, 7, 0x10, " to ", " at ", " step "\n"
/* p.sw by register: stores a word at the address `at`, which moves on by `step`. */
#define XPULPV2_STORE_WORD_STEP(from, at, step) ".insn r 0x2b, 6, 0, " step ", " at ", " from "\n"
/* p.sb: stores a byte at the address `at`, which moves on by 1. */
#define XPULPV2_STORE_BYTE(from, at) ".insn s 0x2b, 0, " from ", 1(" at ")\n"

/* pv.extract.b and pv.extractu.b: byte `number`, 0 to 3, of a word. */
#define XPULPV2_SIGNED 0x3c
#define XPULPV2_UNSIGNED 0x48
#define XPULPV2_EXTRACT(sign, to, from, number) XPULPV2_EXTRACT_##number(sign, to, from)
#define XPULPV2_EXTRACT_0(sign, to, from) XPULPV2_EXTRACTED(sign, to, from, "x0")
#define XPULPV2_EXTRACT_1(sign, to, from) XPULPV2_EXTRACTED(sign + 1, to, from, "x0")
#define XPULPV2_EXTRACT_2(sign, to, from) XPULPV2_EXTRACTED(sign, to, from, "x1")
#define XPULPV2_EXTRACT_3(sign, to, from) XPULPV2_EXTRACTED(sign + 1, to, from, "x1")
#define XPULPV2_EXTRACTED(sign, to, from, pair)                                                    \
    ".insn r 0x57, 7, " XPULPV2_TEXT(sign) ", " to ", " from ", " pair "\n"
#define XPULPV2_TEXT(words) XPULPV2_QUOTED(words)
#define XPULPV2_QUOTED(words) #words

/* p.mac: adds a product. */
#define XPULPV2_MAC(sum, a, b) ".insn r 0x33, 0, 0x21, " sum ", " a ", " b "\n"
/* p.addNr: adds `addend`, then shifts to the right by `shift`. */
#define XPULPV2_ADD_SHIFTED(sum, addend, shift)                                                    \
    ".insn r 0x5b, 2, 0x20, " sum ", " addend ", " shift "\n"
/* pv.max.b and pv.maxu.b: the larger ones of two words' bytes. */
#define XPULPV2_MAX_BYTES(to, a, b) ".insn r 0x57, 1, 0x18, " to ", " a ", " b "\n"
#define XPULPV2_MAX_UNSIGNED_BYTES(to, a, b) ".insn r 0x57, 1, 0x1c, " to ", " a ", " b "\n"
#define XPULPV2_MAX(to, a, b) ".insn r 0x33, 6, 0x02, " to ", " a ", " b "\n"
#define XPULPV2_MIN(to, a, b) ".insn r 0x33, 4, 0x02, " to ", " a ", " b "\n"

#endif

#endif
