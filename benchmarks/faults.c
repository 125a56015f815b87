/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs a model, is stopped in the middle of the run for a fault, and says what came
 * of it. faults.py stops it at the functions named fault_*, and puts the model's names into it. */
#include <stdint.h>

#include "m.h"

#define TIME (*(volatile uint32_t *)0x200bff8)
#define ALARM ((volatile uint32_t *)0x2004000)
#define TIMER_INTERRUPT 0x80000007u
#define TIMER_ENABLE 0x80u
#define INTERRUPTS 0x8u

/* CSR instructions by their encoding, since -march need not name zicsr. */
#define READ_COUNT(value) __asm__ volatile(".insn i 0x73, 2, %0, x0, -1278" : "=r"(value))
#define READ_CAUSE(value) __asm__ volatile(".insn i 0x73, 2, %0, x0, 0x342" : "=r"(value))
#define WRITE_VECTOR(value) __asm__ volatile(".insn i 0x73, 1, x0, %0, 0x305" ::"r"(value))
#define WRITE_ENABLES(value) __asm__ volatile(".insn i 0x73, 1, x0, %0, 0x304" ::"r"(value))
#define SET_STATUS(value) __asm__ volatile(".insn i 0x73, 2, x0, %0, 0x300" ::"r"(value))
#define CLEAR_STATUS(value) __asm__ volatile(".insn i 0x73, 3, x0, %0, 0x300" ::"r"(value))

/* Instructions from the start of the run: when the fault comes, and when the run counts as late. */
volatile uint32_t fault_when, fault_most;
/* Instructions of the run alone, and of the run with the check of constants behind it. */
volatile uint32_t fault_run, fault_instructions, fault_status, fault_check;
_Alignas(16) uint8_t fault_input[INPUT_BYTES], fault_output[OUTPUT_BYTES];
static uint32_t is_hit, started;

#define STOP(name)                                                                                 \
    void name(void);                                                                               \
    __attribute__((noinline)) void name(void)                                                      \
    {                                                                                              \
        /* Assembler of its own: the compiler would merge equal functions. */                      \
        __asm__ volatile("# " #name ::: "memory");                                                 \
    }
STOP(fault_start)
STOP(fault_now)
STOP(fault_end)
STOP(fault_late)
STOP(fault_trap)

static uint32_t elapsed(void)
{
    uint32_t count;
    READ_COUNT(count);
    return count - started;
}

/* A tick of the timer is 100 instructions, or fewer after a stop of the machine. */
static void alarm_at(uint32_t instructions)
{
    ALARM[1] = UINT32_MAX;
    ALARM[0] = TIME + (instructions - elapsed()) / 100u + 1u;
    ALARM[1] = 0;
}

/* Called by the trap of a protected layer too, with the stack pointer of that layer. */
uint32_t fault_stack;
void fault_alarm(void);
void fault_alarm(void)
{
    uint32_t cause;
    READ_CAUSE(cause);
    const uint32_t next = is_hit != 0u ? fault_most : fault_when;
    if (cause != TIMER_INTERRUPT) {
        fault_trap();
    } else if (elapsed() < next) {
        alarm_at(next);
    } else if (is_hit != 0u) {
        fault_late();
    } else {
        is_hit = 1;
        uint32_t before, behind;
        READ_COUNT(before);
        fault_now();
        /* While the machine goes on after a stop, the count runs with the host's clock. */
        READ_COUNT(behind);
        started += behind - before;
        alarm_at(fault_most);
    }
}

static __attribute__((interrupt("machine"), aligned(4))) void handler(void)
{
    fault_stack = 0;
    fault_alarm();
}

int main(void)
{
    const struct m_inputs inputs = {(const void *)fault_input};
    const struct m_outputs outputs = {(void *)fault_output};
    WRITE_VECTOR(&handler);
    WRITE_ENABLES(TIMER_ENABLE);
    fault_start();
    READ_COUNT(started);
    alarm_at(fault_when);
    SET_STATUS(INTERRUPTS);
    fault_status = (uint32_t)m_run(&inputs, &outputs);
    fault_run = elapsed();
    fault_check = 0;
#ifdef CHECKED
    struct tilewright_check check = {0};
    fault_check = (uint32_t)m_check_constants(&check, 0);
#endif
    CLEAR_STATUS(INTERRUPTS);
    fault_instructions = elapsed();
    fault_end();
    return 0;
}
