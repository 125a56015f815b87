/* SPDX-License-Identifier: Apache-2.0 */
/* The vector table, from reset to tilewright_start, and from a fault to the end. */
#include "mps2_an385.h"

#include <stddef.h>

#define EXCEPTIONS 16
#define COPROCESSOR_ACCESS 0xe000ed88u
#define CONFIGURABLE_FAULT_STATUS 0xe000ed28u

/* Words of an exception's frame. */
#define FRAME_PROGRAM_COUNTER 6

extern uint8_t __stack[];

union vector {
    void *stack;
    void (*handler)(void);
};

_Noreturn void _start(void);
_Noreturn void _start(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    /* Coprocessors 10 and 11 are the FPU and the vectors. */
    *(volatile uint32_t *)COPROCESSOR_ACCESS |= 0xfu << 20;
    __asm__ volatile("dsb\n\tisb" : : : "memory");
#endif
    tilewright_console_open();
    tilewright_cycles_open();
    tilewright_start();
}

_Noreturn __attribute__((used)) static void report_fault(const uint32_t *frame)
{
    const volatile uint32_t *status = (const volatile uint32_t *)CONFIGURABLE_FAULT_STATUS;
    tilewright_console_word("\nfault: cfsr=0x", *status);
    tilewright_console_word(" pc=0x", frame[FRAME_PROGRAM_COUNTER]);
    tilewright_console_write("\n");
    tilewright_exit(TILEWRIGHT_TRAP_STATUS);
}

__attribute__((naked)) static void fault(void)
{
    __asm__ volatile("mov r0, sp\n\t"
                     "b report_fault");
}

/* The processor reads its first stack pointer and instruction from here. */
extern const union vector tilewright_vectors[EXCEPTIONS];
__attribute__((used, section(".text.tilewright.start")))
const union vector tilewright_vectors[EXCEPTIONS] = {
    {.stack = __stack}, {.handler = _start}, {.handler = fault}, {.handler = fault},
    {.handler = fault}, {.handler = fault},  {.handler = fault},
};
