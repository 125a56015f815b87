/* SPDX-License-Identifier: Apache-2.0 */
#include "qemu_virt.h"

#define UART_DATA 0x10000000u
#define UART_LINE_STATUS 0x10000005u
#define UART_TRANSMIT_EMPTY 0x20u
#define TEST_DEVICE 0x00100000u
#define TEST_PASS 0x5555u
#define TEST_FAIL 0x3333u

static volatile uint8_t *byte_register(uintptr_t address)
{
    return (volatile uint8_t *)address;
}

void tilewright_console_put(char character)
{
    while ((*byte_register(UART_LINE_STATUS) & UART_TRANSMIT_EMPTY) == 0u) {
    }
    *byte_register(UART_DATA) = (uint8_t)character;
}

_Noreturn void tilewright_exit(int status)
{
    const uint32_t code = tilewright_exit_code(status);
    volatile uint32_t *device = (volatile uint32_t *)(uintptr_t)TEST_DEVICE;
    *device = code == 0u ? TEST_PASS : (code << 16) | TEST_FAIL;
    for (;;) {
    }
}
