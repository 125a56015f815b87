/* SPDX-License-Identifier: Apache-2.0 */
/* Sets up memory as C expects it and calls main; prints traps. */
#include "board.h"

#include <stddef.h>

/* Made by the linker script: [start, end) of memory to clear, and of .data with its source. */
extern const uintptr_t tilewright_zero_table_start[];
extern const uintptr_t tilewright_zero_table_end[];
extern uint32_t __data_start[];
extern uint32_t __data_end[];
extern const uint32_t __data_source[];

typedef void (*initialiser)(void);
extern const initialiser __preinit_array_start[];
extern const initialiser __preinit_array_end[];
extern const initialiser __init_array_start[];
extern const initialiser __init_array_end[];

int main(int argc, char **argv);

static void run_all(const initialiser *from, const initialiser *end)
{
    for (; from != end; from++) {
        (*from)();
    }
}

_Noreturn void tilewright_start(void)
{
    static char name[] = "firmware";
    static char *arguments[] = {name, NULL};

    const uint32_t *source = __data_source;
    if (source != __data_start) {
        /* Volatile stores: the compiler must not turn the loops into calls of a C library. */
        for (volatile uint32_t *word = __data_start; word != __data_end; word++) {
            *word = *source++;
        }
    }
    for (const uintptr_t *range = tilewright_zero_table_start; range != tilewright_zero_table_end;
         range += 2) {
        for (uintptr_t address = range[0]; address != range[1]; address += sizeof(uint32_t)) {
            *(volatile uint32_t *)address = 0;
        }
    }
    run_all(__preinit_array_start, __preinit_array_end);
    run_all(__init_array_start, __init_array_end);
    tilewright_exit(main(1, arguments));
}

_Noreturn void tilewright_trap(uintptr_t cause, uintptr_t address, uintptr_t value)
{
    tilewright_console_write("\ntrap:");
    tilewright_console_word(" mcause=0x", cause);
    tilewright_console_word(" mepc=0x", address);
    tilewright_console_word(" mtval=0x", value);
    tilewright_console_write("\n");
    tilewright_exit(TILEWRIGHT_TRAP_STATUS);
}
