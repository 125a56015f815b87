/* SPDX-License-Identifier: Apache-2.0 */
/* RV32C without floats: the instruction of 32 bits that a short one stands for. */
#include "operations.h"

enum { ZERO = 0, RA = 1, SP = 2 };

enum {
    LOAD = 0x03,
    ARITHMETIC_IMMEDIATE = 0x13,
    STORE = 0x23,
    ARITHMETIC = 0x33,
    UPPER = 0x37,
    BRANCH = 0x63,
    JUMP_REGISTER = 0x67,
    JUMP = 0x6f
};

/* `count` bits of a word from bit `from` on, moved to bit `to`. */
static uint32_t bits(uint32_t word, uint32_t from, uint32_t count, uint32_t to)
{
    return (word >> from & ((1u << count) - 1u)) << to;
}

/* A value whose bit `sign` is its highest. */
static uint32_t extended(uint32_t value, uint32_t sign)
{
    return (value ^ 1u << sign) - (1u << sign);
}

static uint32_t r_type(uint32_t function, uint32_t rd, uint32_t rs1, uint32_t rs2)
{
    return function | rd << 7 | rs1 << 15 | rs2 << 20 | ARITHMETIC;
}

static uint32_t i_type(uint32_t opcode, uint32_t function, uint32_t rd, uint32_t rs1,
                       uint32_t immediate)
{
    return immediate << 20 | rs1 << 15 | function << 12 | rd << 7 | opcode;
}

static uint32_t s_type(uint32_t rs1, uint32_t rs2, uint32_t immediate)
{
    return bits(immediate, 5, 7, 25) | rs2 << 20 | rs1 << 15 | 2u << 12 | bits(immediate, 0, 5, 7) |
           STORE;
}

static uint32_t b_type(uint32_t function, uint32_t rs1, uint32_t immediate)
{
    return bits(immediate, 12, 1, 31) | bits(immediate, 5, 6, 25) | rs1 << 15 | function << 12 |
           bits(immediate, 1, 4, 8) | bits(immediate, 11, 1, 7) | BRANCH;
}

static uint32_t j_type(uint32_t rd, uint32_t immediate)
{
    return bits(immediate, 20, 1, 31) | bits(immediate, 1, 10, 21) | bits(immediate, 11, 1, 20) |
           bits(immediate, 12, 8, 12) | rd << 7 | JUMP;
}

/* Registers 8 to 15, of three bits. */
static uint32_t near_register(uint16_t word, uint32_t from)
{
    return 8u + bits(word, from, 3, 0);
}

static uint32_t immediate_of_six(uint16_t word)
{
    return extended(bits(word, 2, 5, 0) | bits(word, 12, 1, 5), 5);
}

static uint32_t jump_offset(uint16_t word)
{
    const uint32_t offset = bits(word, 3, 3, 1) | bits(word, 11, 1, 4) | bits(word, 2, 1, 5) |
                            bits(word, 7, 1, 6) | bits(word, 6, 1, 7) | bits(word, 9, 2, 8) |
                            bits(word, 8, 1, 10) | bits(word, 12, 1, 11);
    return extended(offset, 11);
}

static uint32_t branch_offset(uint16_t word)
{
    const uint32_t offset = bits(word, 3, 2, 1) | bits(word, 10, 2, 3) | bits(word, 2, 1, 5) |
                            bits(word, 5, 2, 6) | bits(word, 12, 1, 8);
    return extended(offset, 8);
}

/* c.lw and c.sw relative to one of registers 8 to 15, and c.addi4spn, an address on the stack. */
static uint32_t quadrant_0(uint16_t word)
{
    const uint32_t rd = near_register(word, 2);
    const uint32_t rs1 = near_register(word, 7);
    const uint32_t offset = bits(word, 6, 1, 2) | bits(word, 10, 3, 3) | bits(word, 5, 1, 6);
    const uint32_t on_stack =
        bits(word, 6, 1, 2) | bits(word, 5, 1, 3) | bits(word, 11, 2, 4) | bits(word, 7, 4, 6);
    switch (word >> 13) {
    case 0: /* c.addi4spn */
        return on_stack == 0u ? 0u : i_type(ARITHMETIC_IMMEDIATE, 0, rd, SP, on_stack);
    case 2: /* c.lw */
        return i_type(LOAD, 2, rd, rs1, offset);
    case 6: /* c.sw */
        return s_type(rs1, rd, offset);
    default:
        return 0;
    }
}

/* c.srli, c.srai, c.andi, c.sub, c.xor, c.or, c.and */
static uint32_t arithmetic(uint16_t word)
{
    static const uint32_t functions[] = {0x40000000u, 4u << 12, 6u << 12, 7u << 12};
    const uint32_t rd = near_register(word, 7);
    const uint32_t is_high = bits(word, 12, 1, 0);
    const uint32_t shift = bits(word, 2, 5, 0);
    switch (bits(word, 10, 2, 0)) {
    case 0:
        return is_high != 0u ? 0u : i_type(ARITHMETIC_IMMEDIATE, 5, rd, rd, shift);
    case 1:
        return is_high != 0u ? 0u : i_type(ARITHMETIC_IMMEDIATE, 5, rd, rd, 0x400u | shift);
    case 2:
        return i_type(ARITHMETIC_IMMEDIATE, 7, rd, rd, immediate_of_six(word));
    default:
        return is_high != 0u
                   ? 0u
                   : r_type(functions[bits(word, 5, 2, 0)], rd, rd, near_register(word, 2));
    }
}

/* c.addi16sp, c.lui */
static uint32_t upper(uint16_t word, uint32_t rd)
{
    const uint32_t value = immediate_of_six(word);
    const uint32_t on_stack = bits(word, 6, 1, 4) | bits(word, 2, 1, 5) | bits(word, 5, 1, 6) |
                              bits(word, 3, 2, 7) | bits(word, 12, 1, 9);
    if (value == 0u) {
        return 0;
    }
    if (rd == SP) {
        return i_type(ARITHMETIC_IMMEDIATE, 0, SP, SP, extended(on_stack, 9));
    }
    return value << 12 | rd << 7 | UPPER;
}

static uint32_t quadrant_1(uint16_t word)
{
    const uint32_t rd = bits(word, 7, 5, 0);
    const uint32_t value = immediate_of_six(word);
    switch (word >> 13) {
    case 0: /* c.addi, c.nop */
        return i_type(ARITHMETIC_IMMEDIATE, 0, rd, rd, value);
    case 1: /* c.jal */
        return j_type(RA, jump_offset(word));
    case 2: /* c.li */
        return i_type(ARITHMETIC_IMMEDIATE, 0, rd, ZERO, value);
    case 3:
        return upper(word, rd);
    case 4:
        return arithmetic(word);
    case 5: /* c.j */
        return j_type(ZERO, jump_offset(word));
    default: /* c.beqz, c.bnez */
        return b_type((word >> 13) - 6u, near_register(word, 7), branch_offset(word));
    }
}

/* c.jr, c.mv, c.ebreak, c.jalr, c.add */
static uint32_t moved(uint16_t word, uint32_t rd, uint32_t rs2)
{
    const uint32_t is_second = bits(word, 12, 1, 0);
    if (rs2 != 0u) {
        return r_type(0, rd, is_second != 0u ? rd : ZERO, rs2);
    }
    if (rd != 0u) {
        return i_type(JUMP_REGISTER, 0, is_second != 0u ? RA : ZERO, rd, 0);
    }
    return is_second != 0u ? 0x00100073u : 0u;
}

static uint32_t quadrant_2(uint16_t word)
{
    const uint32_t rd = bits(word, 7, 5, 0);
    const uint32_t rs2 = bits(word, 2, 5, 0);
    const uint32_t load_offset = bits(word, 4, 3, 2) | bits(word, 12, 1, 5) | bits(word, 2, 2, 6);
    const uint32_t store_offset = bits(word, 9, 4, 2) | bits(word, 7, 2, 6);
    switch (word >> 13) {
    case 0: /* c.slli */
        return bits(word, 12, 1, 0) != 0u ? 0u : i_type(ARITHMETIC_IMMEDIATE, 1, rd, rd, rs2);
    case 2: /* c.lwsp */
        return rd == 0u ? 0u : i_type(LOAD, 2, rd, SP, load_offset);
    case 4:
        return moved(word, rd, rs2);
    case 6: /* c.swsp */
        return s_type(SP, rs2, store_offset);
    default:
        return 0;
    }
}

uint32_t expanded(uint16_t word)
{
    static uint32_t (*const quadrants[])(uint16_t word) = {quadrant_0, quadrant_1, quadrant_2};
    return (word & 3u) == 3u ? 0u : quadrants[word & 3u](word);
}
