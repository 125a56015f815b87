/* SPDX-License-Identifier: Apache-2.0 */
/* Lines go out by semihosting: at once, in no simulated time, from any core. */
#include "registers.h"

#define SEMIHOSTING_WRITE 5u
#define STANDARD_OUTPUT 1u
#define LINE_BYTES 128u

static void write_out(const char *text, uint32_t size)
{
    const uint32_t block[3] = {STANDARD_OUTPUT, (uint32_t)(uintptr_t)text, size};
    (void)pulp_semihosting(SEMIHOSTING_WRITE, block);
}

static char line[LINE_BYTES];
static uint32_t used;

static void flush(void)
{
    if (used != 0u) {
        write_out(line, used);
        used = 0;
    }
}

void tilewright_console_put(char character)
{
    line[used++] = character;
    if (character == '\n' || used == LINE_BYTES) {
        flush();
    }
}

_Noreturn void tilewright_exit(int status)
{
    flush();
    pulp_write(PULP_EXIT, PULP_EXIT_VALID | tilewright_exit_code(status));
    for (;;) {
    }
}
