/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of Xpulpv2 as macros of encodings, for assemblers that do not know them. Only for
 * kernels. */
#ifndef TILEWRIGHT_KERNELS_XPULPV2_INSTRUCTIONS_H
#define TILEWRIGHT_KERNELS_XPULPV2_INSTRUCTIONS_H

/* clang-format off */
/* The text of the macros, to stand before what uses them. */
#define TILEWRIGHT_XPULPV2_INSTRUCTIONS \
    ".macro tilewright_p_lw rd, rs1\n" \
    ".insn i 0x0b, 2, \\rd, 4(\\rs1)\n" \
    ".endm\n" \
    /* Stores the byte in rs2 at rs1, then adds register `step` to rs1. */ \
    ".macro tilewright_p_sb rs2, rs1, step\n" \
    ".insn r 0x2b, 4, 0, \\step, \\rs1, \\rs2\n" \
    ".endm\n" \
    /* Stores the byte in rs2 at rs1, then adds 1 to rs1. */ \
    ".macro tilewright_p_sb_next rs2, rs1\n" \
    ".insn s 0x2b, 0, \\rs2, 1(\\rs1)\n" \
    ".endm\n" \
    ".macro tilewright_p_mac rd, rs1, rs2\n" \
    ".insn r 0x33, 0, 0x21, \\rd, \\rs1, \\rs2\n" \
    ".endm\n" \
    ".macro tilewright_p_max rd, rs1, rs2\n" \
    ".insn r 0x33, 6, 0x02, \\rd, \\rs1, \\rs2\n" \
    ".endm\n" \
    ".macro tilewright_p_min rd, rs1, rs2\n" \
    ".insn r 0x33, 4, 0x02, \\rd, \\rs1, \\rs2\n" \
    ".endm\n" \
    /* p.addNr: adds, then shifts to the right. */ \
    ".macro tilewright_p_add_shift rd, rs1, rs2\n" \
    ".insn r 0x5b, 2, 0x20, \\rd, \\rs1, \\rs2\n" \
    ".endm\n" \
    /* p.clip clamps to [-bound - 1, bound], p.clipu to [0, bound]. */ \
    ".macro tilewright_p_clip rd, rs1, bound\n" \
    ".insn r 0x33, 5, 0x0a, \\rd, \\rs1, \\bound\n" \
    ".endm\n" \
    ".macro tilewright_p_clipu rd, rs1, bound\n" \
    ".insn r 0x33, 6, 0x0a, \\rd, \\rs1, \\bound\n" \
    ".endm\n" \
    /* Hardware loop 0: repeats the instructions from the next to 2 * offset bytes behind this one. */ \
    ".macro tilewright_lp_setup count, offset\n" \
    ".insn i 0x7b, 4, x0, \\count, \\offset\n" \
    ".endm\n" \
    /* Multiplies one word of one pixel with the words of four channels; dot: function bits of \
     * pv.sdotsp.b or pv.sdotusp.b. */ \
    ".macro tilewright_dots dot, x, c0, c1, c2, c3\n" \
    ".insn r 0x57, 1, \\dot, \\c0, \\x, a1\n" \
    ".insn r 0x57, 1, \\dot, \\c1, \\x, a2\n" \
    ".insn r 0x57, 1, \\dot, \\c2, \\x, a3\n" \
    ".insn r 0x57, 1, \\dot, \\c3, \\x, a4\n" \
    ".endm\n"
/* clang-format on */

#endif
