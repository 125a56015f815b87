/* SPDX-License-Identifier: Apache-2.0 */
/* Text through UART 0; the end by semihosting, which hands QEMU an exit status. */
#include "mps2_an385.h"

#define UART_DATA TILEWRIGHT_MPS2_UART
#define UART_STATE (TILEWRIGHT_MPS2_UART + 0x4u)
#define UART_CONTROL (TILEWRIGHT_MPS2_UART + 0x8u)
#define UART_DIVISOR (TILEWRIGHT_MPS2_UART + 0x10u)
#define UART_TRANSMIT_FULL 1u
#define UART_TRANSMIT_ENABLE 1u
#define UART_SMALLEST_DIVISOR 16u

#define SEMIHOSTING_EXIT_EXTENDED 0x20u
#define SEMIHOSTING_APPLICATION_EXIT 0x20026u

static volatile uint32_t *word_register(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

void tilewright_console_open(void)
{
    *word_register(UART_DIVISOR) = UART_SMALLEST_DIVISOR;
    *word_register(UART_CONTROL) = UART_TRANSMIT_ENABLE;
}

void tilewright_console_put(char character)
{
    while ((*word_register(UART_STATE) & UART_TRANSMIT_FULL) != 0u) {
    }
    *word_register(UART_DATA) = (uint8_t)character;
}

_Noreturn void tilewright_exit(int status)
{
    const uint32_t block[2] = {SEMIHOSTING_APPLICATION_EXIT, tilewright_exit_code(status)};
    register uint32_t operation __asm__("r0") = SEMIHOSTING_EXIT_EXTENDED;
    register const uint32_t *argument __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(operation) : "r"(argument) : "memory");
    for (;;) {
    }
}
