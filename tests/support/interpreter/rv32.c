/* SPDX-License-Identifier: Apache-2.0 */
/* RV32I, M and the control registers that the port uses. */
#include "operations.h"

#include <stddef.h>

enum control { MTVEC = 0x305, MEPC = 0x341, MCAUSE = 0x342, MCYCLE = 0xb00, MHARTID = 0xf14 };

#define RS1 (hart->x[in->rs1])
#define RS2 (hart->x[in->rs2])
#define IMMEDIATE ((uint32_t)in->immediate)
#define ACTION(name) static void name(struct hart *hart, const struct instruction *in)
#define VALUE(name, value)                                                                         \
    ACTION(name)                                                                                   \
    {                                                                                              \
        set(hart, in->rd, (uint32_t)(value));                                                      \
    }
#define BRANCH(name, condition)                                                                    \
    ACTION(name)                                                                                   \
    {                                                                                              \
        if (condition) {                                                                           \
            hart->next_pc = hart->pc + IMMEDIATE;                                                  \
        }                                                                                          \
    }

static int32_t as_signed(uint32_t value)
{
    return (int32_t)value;
}

VALUE(run_add, RS1 + RS2)
VALUE(run_sub, RS1 - RS2)
VALUE(run_sll, RS1 << (RS2 & 31u))
VALUE(run_slt, as_signed(RS1) < as_signed(RS2))
VALUE(run_sltu, RS1 < RS2)
VALUE(run_xor, RS1 ^ RS2)
VALUE(run_srl, RS1 >> (RS2 & 31u))
VALUE(run_sra, as_signed(RS1) >> (RS2 & 31u))
VALUE(run_or, RS1 | RS2)
VALUE(run_and, RS1 &RS2)

VALUE(run_addi, RS1 + IMMEDIATE)
VALUE(run_slti, as_signed(RS1) < in->immediate)
VALUE(run_sltiu, RS1 < IMMEDIATE)
VALUE(run_xori, RS1 ^ IMMEDIATE)
VALUE(run_ori, RS1 | IMMEDIATE)
VALUE(run_andi, RS1 &IMMEDIATE)
VALUE(run_slli, RS1 << in->rs2)
VALUE(run_srli, RS1 >> in->rs2)
VALUE(run_srai, as_signed(RS1) >> in->rs2)
VALUE(run_lui, IMMEDIATE)
VALUE(run_auipc, hart->pc + IMMEDIATE)

VALUE(run_mul, RS1 *RS2)
VALUE(run_mulh, (uint64_t)((int64_t)as_signed(RS1) * as_signed(RS2)) >> 32)
VALUE(run_mulhsu, (uint64_t)((int64_t)as_signed(RS1) * (int64_t)RS2) >> 32)
VALUE(run_mulhu, (uint64_t)RS1 *RS2 >> 32)

BRANCH(run_beq, RS1 == RS2)
BRANCH(run_bne, RS1 != RS2)
BRANCH(run_blt, as_signed(RS1) < as_signed(RS2))
BRANCH(run_bge, as_signed(RS1) >= as_signed(RS2))
BRANCH(run_bltu, RS1 < RS2)
BRANCH(run_bgeu, RS1 >= RS2)

/* By zero, and the one quotient that does not fit, as the manual says. */
ACTION(run_div)
{
    const int32_t dividend = as_signed(RS1), divisor = as_signed(RS2);
    const int has_result = divisor != 0 && !(dividend == INT32_MIN && divisor == -1);
    const int32_t otherwise = divisor == 0 ? -1 : dividend;
    set(hart, in->rd, (uint32_t)(has_result ? dividend / divisor : otherwise));
}

ACTION(run_rem)
{
    const int32_t dividend = as_signed(RS1), divisor = as_signed(RS2);
    const int has_result = divisor != 0 && !(dividend == INT32_MIN && divisor == -1);
    const int32_t otherwise = divisor == 0 ? dividend : 0;
    set(hart, in->rd, (uint32_t)(has_result ? dividend % divisor : otherwise));
}

VALUE(run_divu, RS2 != 0u ? RS1 / RS2 : UINT32_MAX)
VALUE(run_remu, RS2 != 0u ? RS1 % RS2 : RS1)

/* A load that trapped or makes its hart wait has no value yet. */
static void keep(struct hart *hart, uint32_t rd, uint32_t value)
{
    if (!hart->has_trapped && hart->state != HART_WAITS) {
        set(hart, rd, value);
    }
}

ACTION(run_lb)
{
    keep(hart, in->rd, (uint32_t)(int8_t)load(hart, RS1 + IMMEDIATE, 1));
}

ACTION(run_lh)
{
    keep(hart, in->rd, (uint32_t)(int16_t)load(hart, RS1 + IMMEDIATE, 2));
}

ACTION(run_lw)
{
    keep(hart, in->rd, load(hart, RS1 + IMMEDIATE, 4));
}

ACTION(run_lbu)
{
    keep(hart, in->rd, load(hart, RS1 + IMMEDIATE, 1));
}

ACTION(run_lhu)
{
    keep(hart, in->rd, load(hart, RS1 + IMMEDIATE, 2));
}

ACTION(run_sb)
{
    store(hart, RS1 + IMMEDIATE, 1, RS2);
}

ACTION(run_sh)
{
    store(hart, RS1 + IMMEDIATE, 2, RS2);
}

ACTION(run_sw)
{
    store(hart, RS1 + IMMEDIATE, 4, RS2);
}

ACTION(run_jal)
{
    set(hart, in->rd, hart->next_pc);
    hart->next_pc = hart->pc + IMMEDIATE;
}

ACTION(run_jalr)
{
    const uint32_t target = (RS1 + IMMEDIATE) & ~1u;
    set(hart, in->rd, hart->next_pc);
    hart->next_pc = target;
}

ACTION(run_fence)
{
    (void)hart;
    (void)in;
}

ACTION(run_ecall)
{
    (void)in;
    trap(hart, CAUSE_CALL, "ecall, which nobody serves");
}

ACTION(run_ebreak)
{
    (void)in;
    semihosting(hart);
}

ACTION(run_wfi)
{
    (void)in;
    hart->state = HART_OFF;
}

static uint32_t *control_register(struct hart *hart, uint32_t number)
{
    switch (number) {
    case MTVEC:
        return &hart->mtvec;
    case MEPC:
        return &hart->mepc;
    case MCAUSE:
        return &hart->mcause;
    default:
        return NULL;
    }
}

static void access_control(struct hart *hart, const struct instruction *in, int is_written,
                           uint32_t bits_kept, uint32_t bits_set)
{
    const uint32_t number = IMMEDIATE & 0xfffu;
    uint32_t *changed = control_register(hart, number);
    uint32_t value = changed != NULL ? *changed : 0u;
    if (number == MCYCLE) {
        value = (uint32_t)hart->machine->time;
    } else if (number == MHARTID) {
        value = hart->number;
    } else if (changed == NULL) {
        trap(hart, CAUSE_ILLEGAL, "control register 0x%03x is not modelled", number);
        return;
    }
    if (is_written && changed == NULL) {
        trap(hart, CAUSE_ILLEGAL, "control register 0x%03x is only read here", number);
        return;
    }
    if (is_written) {
        *changed = (value & bits_kept) | bits_set;
    }
    set(hart, in->rd, value);
}

ACTION(run_csrrw)
{
    access_control(hart, in, 1, 0, RS1);
}

ACTION(run_csrrs)
{
    access_control(hart, in, in->rs1 != 0u, UINT32_MAX, RS1);
}

const struct operation rv32_operations[] = {
    {"lui", "------- ----- ----- --- ----- 0110111", FORMAT_U, run_lui},
    {"auipc", "------- ----- ----- --- ----- 0010111", FORMAT_U, run_auipc},
    {"jal", "------- ----- ----- --- ----- 1101111", FORMAT_J, run_jal},
    {"jalr", "------- ----- ----- 000 ----- 1100111", FORMAT_I, run_jalr},
    {"beq", "------- ----- ----- 000 ----- 1100011", FORMAT_B, run_beq},
    {"bne", "------- ----- ----- 001 ----- 1100011", FORMAT_B, run_bne},
    {"blt", "------- ----- ----- 100 ----- 1100011", FORMAT_B, run_blt},
    {"bge", "------- ----- ----- 101 ----- 1100011", FORMAT_B, run_bge},
    {"bltu", "------- ----- ----- 110 ----- 1100011", FORMAT_B, run_bltu},
    {"bgeu", "------- ----- ----- 111 ----- 1100011", FORMAT_B, run_bgeu},
    {"lb", "------- ----- ----- 000 ----- 0000011", FORMAT_I, run_lb},
    {"lh", "------- ----- ----- 001 ----- 0000011", FORMAT_I, run_lh},
    {"lw", "------- ----- ----- 010 ----- 0000011", FORMAT_I, run_lw},
    {"lbu", "------- ----- ----- 100 ----- 0000011", FORMAT_I, run_lbu},
    {"lhu", "------- ----- ----- 101 ----- 0000011", FORMAT_I, run_lhu},
    {"sb", "------- ----- ----- 000 ----- 0100011", FORMAT_S, run_sb},
    {"sh", "------- ----- ----- 001 ----- 0100011", FORMAT_S, run_sh},
    {"sw", "------- ----- ----- 010 ----- 0100011", FORMAT_S, run_sw},
    {"addi", "------- ----- ----- 000 ----- 0010011", FORMAT_I, run_addi},
    {"slti", "------- ----- ----- 010 ----- 0010011", FORMAT_I, run_slti},
    {"sltiu", "------- ----- ----- 011 ----- 0010011", FORMAT_I, run_sltiu},
    {"xori", "------- ----- ----- 100 ----- 0010011", FORMAT_I, run_xori},
    {"ori", "------- ----- ----- 110 ----- 0010011", FORMAT_I, run_ori},
    {"andi", "------- ----- ----- 111 ----- 0010011", FORMAT_I, run_andi},
    {"slli", "0000000 ----- ----- 001 ----- 0010011", FORMAT_R, run_slli},
    {"srli", "0000000 ----- ----- 101 ----- 0010011", FORMAT_R, run_srli},
    {"srai", "0100000 ----- ----- 101 ----- 0010011", FORMAT_R, run_srai},
    {"add", "0000000 ----- ----- 000 ----- 0110011", FORMAT_R, run_add},
    {"sub", "0100000 ----- ----- 000 ----- 0110011", FORMAT_R, run_sub},
    {"sll", "0000000 ----- ----- 001 ----- 0110011", FORMAT_R, run_sll},
    {"slt", "0000000 ----- ----- 010 ----- 0110011", FORMAT_R, run_slt},
    {"sltu", "0000000 ----- ----- 011 ----- 0110011", FORMAT_R, run_sltu},
    {"xor", "0000000 ----- ----- 100 ----- 0110011", FORMAT_R, run_xor},
    {"srl", "0000000 ----- ----- 101 ----- 0110011", FORMAT_R, run_srl},
    {"sra", "0100000 ----- ----- 101 ----- 0110011", FORMAT_R, run_sra},
    {"or", "0000000 ----- ----- 110 ----- 0110011", FORMAT_R, run_or},
    {"and", "0000000 ----- ----- 111 ----- 0110011", FORMAT_R, run_and},
    {"mul", "0000001 ----- ----- 000 ----- 0110011", FORMAT_R, run_mul},
    {"mulh", "0000001 ----- ----- 001 ----- 0110011", FORMAT_R, run_mulh},
    {"mulhsu", "0000001 ----- ----- 010 ----- 0110011", FORMAT_R, run_mulhsu},
    {"mulhu", "0000001 ----- ----- 011 ----- 0110011", FORMAT_R, run_mulhu},
    {"div", "0000001 ----- ----- 100 ----- 0110011", FORMAT_R, run_div},
    {"divu", "0000001 ----- ----- 101 ----- 0110011", FORMAT_R, run_divu},
    {"rem", "0000001 ----- ----- 110 ----- 0110011", FORMAT_R, run_rem},
    {"remu", "0000001 ----- ----- 111 ----- 0110011", FORMAT_R, run_remu},
    {"fence", "------- ----- 00000 000 00000 0001111", FORMAT_I, run_fence},
    {"ecall", "0000000 00000 00000 000 00000 1110011", FORMAT_I, run_ecall},
    {"ebreak", "0000000 00001 00000 000 00000 1110011", FORMAT_I, run_ebreak},
    {"wfi", "0001000 00101 00000 000 00000 1110011", FORMAT_I, run_wfi},
    {"csrrw", "------- ----- ----- 001 ----- 1110011", FORMAT_I, run_csrrw},
    {"csrrs", "------- ----- ----- 010 ----- 1110011", FORMAT_I, run_csrrs},
};
const uint32_t rv32_operation_count = sizeof rv32_operations / sizeof rv32_operations[0];
