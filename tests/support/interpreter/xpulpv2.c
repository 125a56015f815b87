/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of Xpulpv2 that kernels use. */
#include "operations.h"

#include <stddef.h>

#define RS1 (hart->x[in->rs1])
#define RS2 (hart->x[in->rs2])
#define ACTION(name) static void name(struct hart *hart, const struct instruction *in)

/* Loads and stores at rs1, which moves on behind them. A register that is both the base and what
 * is loaded would depend on the chip. */
static void load_word(struct hart *hart, const struct instruction *in, uint32_t step)
{
    const uint32_t at = RS1;
    if (in->rd == in->rs1) {
        trap(hart, CAUSE_ILLEGAL, "p.lw loads the register that it moves on");
        return;
    }
    const uint32_t value = load(hart, at, 4);
    if (!hart->has_trapped && hart->state != HART_WAITS) {
        set(hart, in->rd, value);
        set(hart, in->rs1, at + step);
    }
}

static void store_byte(struct hart *hart, const struct instruction *in, uint32_t step)
{
    const uint32_t at = RS1;
    store(hart, at, 1, RS2);
    if (!hart->has_trapped) {
        set(hart, in->rs1, at + step);
    }
}

ACTION(load_word_by_immediate)
{
    load_word(hart, in, (uint32_t)in->immediate);
}

ACTION(load_word_by_register)
{
    load_word(hart, in, RS2);
}

ACTION(store_byte_by_immediate)
{
    store_byte(hart, in, (uint32_t)in->immediate);
}

/* The step is in what other instructions call rd. */
ACTION(store_byte_by_register)
{
    store_byte(hart, in, hart->x[in->rd]);
}

ACTION(store_word_by_register)
{
    const uint32_t at = RS1;
    store(hart, at, 4, RS2);
    if (!hart->has_trapped) {
        set(hart, in->rs1, at + hart->x[in->rd]);
    }
}

/* Each byte of rs2 chooses one of rd's bytes (0 to 3) or of rs1's (4 to 7). */
ACTION(shuffle)
{
    const uint64_t bytes = (uint64_t)RS1 << 32 | hart->x[in->rd];
    uint32_t chosen = 0;
    for (uint32_t shift = 0; shift < 32u; shift += 8u) {
        const uint32_t from = 8u * (RS2 >> shift & 7u);
        chosen |= (uint32_t)(bytes >> from & 0xffu) << shift;
    }
    set(hart, in->rd, chosen);
}

static uint32_t limited(uint32_t value, int32_t low, int32_t high)
{
    const int32_t number = (int32_t)value;
    if (number <= low) {
        return (uint32_t)low;
    }
    return (uint32_t)(number >= high ? high : number);
}

/* A negative bound would make the limits cross. */
static int is_bound(struct hart *hart, uint32_t bound)
{
    if (bound >> 31 != 0u) {
        trap(hart, CAUSE_ILLEGAL, "clips by a negative bound");
        return 0;
    }
    return 1;
}

ACTION(clip)
{
    if (is_bound(hart, RS2)) {
        set(hart, in->rd, limited(RS1, (int32_t)~RS2, (int32_t)RS2));
    }
}

ACTION(clip_unsigned)
{
    if (is_bound(hart, RS2)) {
        set(hart, in->rd, limited(RS1, 0, (int32_t)RS2));
    }
}

ACTION(accumulate)
{
    set(hart, in->rd, hart->x[in->rd] + RS1 * RS2);
}

/* The sum wraps around; the shift takes five bits and keeps the sign. */
ACTION(add_shifted)
{
    set(hart, in->rd, (uint32_t)((int32_t)(hart->x[in->rd] + RS1) >> (RS2 & 31u)));
}

/* A byte of rs1: the lowest bit of its number is the highest of six. */
static uint32_t extracted(const struct hart *hart, const struct instruction *in)
{
    const uint32_t bits = (uint32_t)in->immediate;
    const uint32_t number = (bits & 0x1fu) << 1 | (bits >> 5 & 1u);
    return RS1 >> 8u * (number & 3u) & 0xffu;
}

ACTION(extract_signed)
{
    set(hart, in->rd, (uint32_t)(int32_t)(int8_t)extracted(hart, in));
}

ACTION(extract_unsigned)
{
    set(hart, in->rd, extracted(hart, in));
}

static void largest_bytes(struct hart *hart, const struct instruction *in, uint32_t flip)
{
    uint32_t largest = 0;
    for (uint32_t shift = 0; shift < 32u; shift += 8u) {
        const uint32_t first = RS1 >> shift & 0xffu, second = RS2 >> shift & 0xffu;
        largest |= ((first ^ flip) < (second ^ flip) ? second : first) << shift;
    }
    set(hart, in->rd, largest);
}

ACTION(maximum_signed_bytes)
{
    largest_bytes(hart, in, 0x80u);
}

ACTION(maximum_unsigned_bytes)
{
    largest_bytes(hart, in, 0u);
}

ACTION(minimum)
{
    set(hart, in->rd, (int32_t)RS1 < (int32_t)RS2 ? RS1 : RS2);
}

ACTION(maximum)
{
    set(hart, in->rd, (int32_t)RS1 < (int32_t)RS2 ? RS2 : RS1);
}

static uint32_t signed_dot(struct hart *hart, const struct instruction *in)
{
    uint32_t sum = 0;
    for (uint32_t shift = 0; shift < 32u; shift += 8u) {
        sum += (uint32_t)((int8_t)(RS1 >> shift) * (int8_t)(RS2 >> shift));
    }
    return sum;
}

/* Bytes of rs1 are unsigned, those of rs2 signed. */
static uint32_t unsigned_signed_dot(struct hart *hart, const struct instruction *in)
{
    uint32_t sum = 0;
    for (uint32_t shift = 0; shift < 32u; shift += 8u) {
        sum += (uint32_t)((uint8_t)(RS1 >> shift) * (int8_t)(RS2 >> shift));
    }
    return sum;
}

ACTION(dot_signed)
{
    set(hart, in->rd, signed_dot(hart, in));
}

ACTION(dot_unsigned_signed)
{
    set(hart, in->rd, unsigned_signed_dot(hart, in));
}

ACTION(add_dot_signed)
{
    set(hart, in->rd, hart->x[in->rd] + signed_dot(hart, in));
}

ACTION(add_dot_unsigned_signed)
{
    set(hart, in->rd, hart->x[in->rd] + unsigned_signed_dot(hart, in));
}

/* What a body must not have: jumps, branches, fences, control registers and the environment. */
static int leaves_body(uint32_t word)
{
    const uint32_t opcode = word & 0x7fu;
    return opcode == 0x63u || opcode == 0x67u || opcode == 0x6fu || opcode == 0x0fu ||
           opcode == 0x73u;
}

/* Why a hardware loop is none that every chip of the family runs; NULL if it is one. */
static const char *fault_of(struct hart *hart, uint32_t start, uint32_t end)
{
    enum { LEAST_INSTRUCTIONS = 3 };
    if (start % 4u != 0u || end % 4u != 0u) {
        return "does not begin and end at whole words";
    }
    if (end < start + 4u * (LEAST_INSTRUCTIONS - 1u)) {
        return "has fewer than three instructions";
    }
    for (uint32_t at = start; at <= end; at += 4u) {
        const uint32_t word = load(hart, at, 4);
        if (hart->has_trapped) {
            return "lies outside memory";
        }
        if ((word & 3u) != 3u) {
            return "has a short instruction";
        }
        if (leaves_body(word)) {
            return "has a jump, a branch or a fence, or asks the environment";
        }
    }
    return NULL;
}

ACTION(set_up_loop)
{
    const uint32_t start = hart->pc + 4u;
    const uint32_t end = hart->pc + 2u * ((uint32_t)in->immediate & 0xfffu);
    if (in->is_checked == 0u) {
        const char *fault = fault_of(hart, start, end);
        if (fault != NULL) {
            trap(hart, CAUSE_ILLEGAL, "a hardware loop %s", fault);
            return;
        }
        /* Code does not change: once is enough. */
        hart->machine->decoded[(hart->pc - L2_BASE) / 2u].is_checked = 1;
    }
    if (RS1 == 0u) {
        trap(hart, CAUSE_ILLEGAL, "a hardware loop counts from zero");
        return;
    }
    hart->loop = (struct hardware_loop){start, end, RS1};
}

const struct operation xpulpv2_operations[] = {
    {"p.lw rd, imm(rs1!)", "------- ----- ----- 010 ----- 0001011", FORMAT_I,
     load_word_by_immediate},
    {"p.lw rd, rs2(rs1!)", "0010000 ----- ----- 111 ----- 0001011", FORMAT_R,
     load_word_by_register},
    {"p.sb rs2, imm(rs1!)", "------- ----- ----- 000 ----- 0101011", FORMAT_S,
     store_byte_by_immediate},
    {"p.sb rs2, rs3(rs1!)", "0000000 ----- ----- 100 ----- 0101011", FORMAT_R,
     store_byte_by_register},
    {"p.sw rs2, rs3(rs1!)", "0000000 ----- ----- 110 ----- 0101011", FORMAT_R,
     store_word_by_register},
    {"p.clipr", "0001010 ----- ----- 101 ----- 0110011", FORMAT_R, clip},
    {"p.clipur", "0001010 ----- ----- 110 ----- 0110011", FORMAT_R, clip_unsigned},
    {"p.mac", "0100001 ----- ----- 000 ----- 0110011", FORMAT_R, accumulate},
    {"p.addNr", "0100000 ----- ----- 010 ----- 1011011", FORMAT_R, add_shifted},
    {"p.min", "0000010 ----- ----- 100 ----- 0110011", FORMAT_R, minimum},
    {"p.max", "0000010 ----- ----- 110 ----- 0110011", FORMAT_R, maximum},
    {"pv.extract.b", "011110- ----- ----- 111 ----- 1010111", FORMAT_I, extract_signed},
    {"pv.extractu.b", "100100- ----- ----- 111 ----- 1010111", FORMAT_I, extract_unsigned},
    {"pv.max.b", "0011000 ----- ----- 001 ----- 1010111", FORMAT_R, maximum_signed_bytes},
    {"pv.maxu.b", "0011100 ----- ----- 001 ----- 1010111", FORMAT_R, maximum_unsigned_bytes},
    {"pv.dotsp.b", "1001100 ----- ----- 001 ----- 1010111", FORMAT_R, dot_signed},
    {"pv.dotusp.b", "1000100 ----- ----- 001 ----- 1010111", FORMAT_R, dot_unsigned_signed},
    {"pv.sdotsp.b", "1011100 ----- ----- 001 ----- 1010111", FORMAT_R, add_dot_signed},
    {"pv.sdotusp.b", "1010100 ----- ----- 001 ----- 1010111", FORMAT_R, add_dot_unsigned_signed},
    {"pv.shuffle2.b", "1100100 ----- ----- 001 ----- 1010111", FORMAT_R, shuffle},
    {"lp.setup 0", "------- ----- ----- 100 00000 1111011", FORMAT_I, set_up_loop},
};
const uint32_t xpulpv2_operation_count = sizeof xpulpv2_operations / sizeof xpulpv2_operations[0];
