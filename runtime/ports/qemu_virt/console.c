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

void tilewright_console_write(const char *text)
{
    for (; *text != '\0'; text++) {
        tilewright_console_put(*text);
    }
}

_Noreturn void tilewright_exit(int status)
{
    uint32_t code = (uint32_t)status & 0xffu;
    if (status != 0 && code == 0u) {
        code = 1u;
    }
    volatile uint32_t *device = (volatile uint32_t *)(uintptr_t)TEST_DEVICE;
    *device = code == 0u ? TEST_PASS : (code << 16) | TEST_FAIL;
    for (;;) {
    }
}
