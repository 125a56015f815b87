/* SPDX-License-Identifier: Apache-2.0 */
/* Layers run in user mode, and physical memory protection (PMP) says what user mode may touch. */
#include "protect.h"

#include <stddef.h>

#include <tilewright/protect.h>

/* A pair of entries for each region: its first byte, and the first one behind it. */
#define REGIONS (PROTECT_ENTRIES / 2)
#define READ 0x1u
#define WRITE 0x2u
#define EXECUTE 0x4u
#define TOP_OF_RANGE 0x8u

#define CAUSE_EXECUTE_FAULT 1u
#define CAUSE_READ_FAULT 5u
#define CAUSE_WRITE_FAULT 7u

/* The linker script lays code, constants and other read-only data out between these. */
extern void _start(void);
extern const uint8_t tilewright_zero_table_end[];

struct entries {
    uint32_t addresses[PROTECT_ENTRIES];
    uint32_t configurations[PROTECT_ENTRIES / 4];
};

static void add(struct entries *entries, uint32_t number, uintptr_t begin, uintptr_t end,
                uint32_t rights)
{
    entries->addresses[2u * number] = (uint32_t)begin / 4u;
    entries->addresses[2u * number + 1u] = ((uint32_t)end + 3u) / 4u;
    entries->configurations[number / 2u] |= (TOP_OF_RANGE | rights) << (16u * (number % 2u) + 8u);
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
    if (count + 2u > REGIONS) {
        return TILEWRIGHT_NOT_PROTECTED;
    }
    struct entries entries = {{0}, {0}};
    struct protect_trap trap = {PROTECT_NO_TRAP, 0, 0};
    const uintptr_t stack = stack_pointer() - PROTECT_FRAME_BYTES;
    add(&entries, 0, (uintptr_t)&_start, (uintptr_t)tilewright_zero_table_end, READ | EXECUTE);
    add(&entries, 1, stack - stack_bytes, stack, READ | WRITE);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t rights = regions[i].is_writable != 0u ? READ | WRITE : READ;
        const uintptr_t begin = regions[i].address;
        add(&entries, i + 2u, begin, begin + regions[i].size_bytes, rights);
    }
    if (tilewright_protect_set(entries.addresses, entries.configurations) != 0) {
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
