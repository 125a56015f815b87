/* SPDX-License-Identifier: Apache-2.0 */
/* What a program asks of the machine that runs it: output, and its own file. Only the file that
 * the port names is there, and it is the program's. */
#include "machine.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { OPEN = 0x01, WRITE = 0x05, READ = 0x06, SEEK = 0x0a };
enum { PREPARED = 0x01f01013, CLOSED = 0x40705013 };
enum { STANDARD_OUTPUT = 1, READ_BINARY = 1, PROGRAM_HANDLE = 3 };
enum { A0 = 10, A1 = 11 };

#define FAILED UINT32_MAX

static const char program_name[] = "program.elf";

static uint32_t word_at(struct machine *machine, uint32_t address)
{
    uint32_t word = 0;
    const uint8_t *from = machine_memory(machine, address, sizeof word);
    if (from != NULL) {
        memcpy(&word, from, sizeof word);
    }
    return word;
}

static uint32_t open_program(const uint8_t *name, uint32_t mode, uint32_t length)
{
    const int is_known = length == sizeof program_name - 1u && name != NULL &&
                         memcmp(name, program_name, length) == 0 && mode == READ_BINARY;
    return is_known ? PROGRAM_HANDLE : FAILED;
}

/* Bytes that were not written. */
static uint32_t write_out(uint32_t handle, const uint8_t *from, uint32_t bytes)
{
    if (handle != STANDARD_OUTPUT || from == NULL) {
        return bytes;
    }
    const size_t written = fwrite(from, 1, bytes, stdout);
    (void)fflush(stdout);
    return bytes - (uint32_t)written;
}

/* Bytes that were not read; `position` is that of the next seek. */
static uint32_t read_in(struct machine *machine, uint64_t *position, uint8_t *to, uint32_t bytes)
{
    const uint64_t left = machine->file_size - *position;
    const uint32_t taken = bytes < left ? bytes : (uint32_t)left;
    if (to == NULL) {
        return bytes;
    }
    memcpy(to, machine->file + *position, taken);
    *position += taken;
    return bytes - taken;
}

void semihosting(struct hart *hart)
{
    static uint64_t position;
    struct machine *machine = hart->machine;
    if (word_at(machine, hart->pc - 4u) != PREPARED || word_at(machine, hart->pc + 4u) != CLOSED) {
        trap(hart, CAUSE_BREAKPOINT, "ebreak");
        return;
    }
    const uint32_t block = hart->x[A1];
    const uint32_t first = word_at(machine, block);
    const uint32_t second = word_at(machine, block + 4u);
    const uint32_t third = word_at(machine, block + 8u);
    switch (hart->x[A0]) {
    case OPEN:
        hart->x[A0] = open_program(machine_memory(machine, first, third), second, third);
        return;
    case WRITE:
        hart->x[A0] = write_out(first, machine_memory(machine, second, third), third);
        return;
    case SEEK:
        position = second < machine->file_size ? second : machine->file_size;
        hart->x[A0] = first == PROGRAM_HANDLE && second <= machine->file_size ? 0u : FAILED;
        return;
    case READ:
        hart->x[A0] = read_in(machine, &position, machine_memory(machine, second, third), third);
        return;
    default:
        trap(hart, CAUSE_BREAKPOINT, "asks its host for 0x%x, which is not modelled", hart->x[A0]);
    }
}
