/* SPDX-License-Identifier: Apache-2.0 */
/* Layers run in user mode, and physical memory protection (PMP) says what user mode may touch. */
#include "protect.h"

#include <stddef.h>

#include <tilewright/protect.h>

/* An entry says where a span ends, and the one before it where the span begins; so spans that
 * follow each other share one. */
#define READ 0x1u
#define WRITE 0x2u
#define EXECUTE 0x4u
#define TOP_OF_RANGE 0x8u

#define CAUSE_EXECUTE_FAULT 1u
#define CAUSE_READ_FAULT 5u
#define CAUSE_WRITE_FAULT 7u

/* The linker script lays out code, constants, and other read-only data behind them. */
extern void _start(void);
extern const uint8_t tilewright_code_end[];
extern const uint8_t tilewright_rodata_start[];
extern const uint8_t tilewright_zero_table_end[];

struct entries {
    uint32_t addresses[PROTECT_ENTRIES];
    uint32_t configurations[PROTECT_ENTRIES / 4];
    uint32_t used; /* more than there are if they do not suffice */
};

static void append(struct entries *entries, uint32_t address, uint32_t configuration)
{
    const uint32_t number = entries->used;
    entries->used += 1u;
    if (number < PROTECT_ENTRIES) {
        entries->addresses[number] = address;
        entries->configurations[number / 4u] |= configuration << (8u * (number % 4u));
    }
}

static void add(struct entries *entries, uintptr_t begin, uintptr_t end, uint32_t rights)
{
    const uint32_t first = (uint32_t)begin / 4u;
    const uint32_t last = entries->used - 1u;
    if (last >= PROTECT_ENTRIES || entries->addresses[last] != first) {
        append(entries, first, 0);
    }
    append(entries, ((uint32_t)end + 3u) / 4u, TOP_OF_RANGE | rights);
}

static uintptr_t stack_pointer(void)
{
    uintptr_t pointer;
    __asm__ volatile("mv %0, sp" : "=r"(pointer));
    return pointer;
}

static enum tilewright_access access_of(uint32_t cause)
{
    if (cause == CAUSE_READ_FAULT) {
        return TILEWRIGHT_ACCESS_READ;
    }
    if (cause == CAUSE_WRITE_FAULT) {
        return TILEWRIGHT_ACCESS_WRITE;
    }
    return cause == CAUSE_EXECUTE_FAULT ? TILEWRIGHT_ACCESS_EXECUTE : TILEWRIGHT_ACCESS_OTHER;
}

int tilewright_protected(int (*work)(void *argument), void *argument,
                         const struct tilewright_region *regions, uint32_t count,
                         uint32_t stack_bytes, struct tilewright_violation *violation)
{
    struct entries entries = {{0}, {0}, 0};
    struct protect_trap trap = {PROTECT_NO_TRAP, 0, 0};
    const uintptr_t stack = stack_pointer() - PROTECT_FRAME_BYTES;
    add(&entries, (uintptr_t)&_start, (uintptr_t)tilewright_code_end, EXECUTE);
    add(&entries, (uintptr_t)tilewright_rodata_start, (uintptr_t)tilewright_zero_table_end, READ);
    add(&entries, stack - stack_bytes, stack, READ | WRITE);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t rights = regions[i].is_writable != 0u ? READ | WRITE : READ;
        const uintptr_t begin = regions[i].address;
        add(&entries, begin, begin + regions[i].size_bytes, rights);
    }
    if (entries.used > PROTECT_ENTRIES ||
        tilewright_protect_set(entries.addresses, entries.configurations) != 0) {
        return TILEWRIGHT_NOT_PROTECTED;
    }
    const int returned = tilewright_protect_enter(work, argument, &trap);
    if (trap.cause == PROTECT_NO_TRAP) {
        return returned;
    }
    violation->address = trap.value;
    violation->instruction = trap.instruction;
    violation->access = access_of(trap.cause);
    return TILEWRIGHT_VIOLATED;
}

__attribute__((weak)) void tilewright_violated(const struct tilewright_violation *violation)
{
    (void)violation;
}
