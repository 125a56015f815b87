/* SPDX-License-Identifier: Apache-2.0 */
/* Layers run unprivileged, and the memory protection unit says what they may touch. */
#include "mps2_an385.h"
#include "mpu.h"

#include <stddef.h>

#include <tilewright/protect.h>

#if TILEWRIGHT_HAS_MPU

/* Beside the regions: the program, and the stack. Version 7 has no entry to leave out the constants
 * between code and other read-only data. */
#define STACK_SPAN 0u
#define CODE_SPAN 1u
#if TILEWRIGHT_MPU_VERSION == 8
#define RODATA_SPAN 2u
#define OWN_SPANS 3u
#else
#define OWN_SPANS 2u
#endif

#define CONFIGURABLE_FAULT_STATUS 0xe000ed28u
#define HARD_FAULT_STATUS 0xe000ed2cu
#define MEMORY_FAULT_ADDRESS 0xe000ed34u
#define BUS_FAULT_ADDRESS 0xe000ed38u
#define MPU_TYPE 0xe000ed90u
#define MPU_CONTROL 0xe000ed94u
#define MPU_NUMBER 0xe000ed98u
#define MPU_BASE 0xe000ed9cu
#define MPU_LIMIT 0xe000eda0u
#define MPU_KINDS_0 0xe000edc0u
#define MPU_KINDS_1 0xe000edc4u

#define MPU_ENABLE 0x1u
#define MPU_PRIVILEGED_HAS_THE_REST 0x4u
#define FAULT_EXECUTE 0x00000101u
#define FAULT_DATA 0x0000fefeu
#define FAULT_STACKING 0x00101010u
#define FAULT_MEMORY_ADDRESS_IS_VALID 0x00000080u
#define FAULT_BUS_ADDRESS_IS_VALID 0x00008000u
#define HARD_FAULT_IS_FORCED 0x40000000u
#define CONTROL_IS_UNPRIVILEGED 0x1u
/* For v8, by bits 31 to 29 of the address, as the processor treats it without the unit. */
#define KINDS_0 0xff04ffaau
#define KINDS_1 0x040404aau

/* The linker script lays out code, constants, and other read-only data behind them. */
extern const uint8_t tilewright_vectors[];
#if TILEWRIGHT_MPU_VERSION == 8
extern const uint8_t tilewright_code_end[];
extern const uint8_t tilewright_rodata_start[];
#endif
extern const uint8_t tilewright_zero_table_end[];

/* The unit as the application has it. */
struct unit {
    uint32_t control;
    uint32_t number;
    uint32_t kinds[2];
    struct mpu_entry entries[TILEWRIGHT_MPU_ENTRIES];
};

static volatile uint32_t *word_register(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

static uint32_t entries_of_unit(void)
{
    const uint32_t entries = (*word_register(MPU_TYPE) >> 8) & 0xffu;
    return entries < TILEWRIGHT_MPU_ENTRIES ? entries : TILEWRIGHT_MPU_ENTRIES;
}

static void save(struct unit *unit, uint32_t count)
{
    unit->control = *word_register(MPU_CONTROL);
    unit->number = *word_register(MPU_NUMBER);
    for (uint32_t i = 0; i < count; ++i) {
        *word_register(MPU_NUMBER) = i;
        unit->entries[i].base = *word_register(MPU_BASE);
        unit->entries[i].limit = *word_register(MPU_LIMIT);
    }
#if TILEWRIGHT_MPU_VERSION == 8
    unit->kinds[0] = *word_register(MPU_KINDS_0);
    unit->kinds[1] = *word_register(MPU_KINDS_1);
#endif
}

static void set(const struct unit *unit, uint32_t count)
{
    __asm__ volatile("dmb" ::: "memory");
    *word_register(MPU_CONTROL) = 0;
    for (uint32_t i = 0; i < count; ++i) {
        *word_register(MPU_NUMBER) = i;
        *word_register(MPU_LIMIT) = 0;
        *word_register(MPU_BASE) = unit->entries[i].base;
        *word_register(MPU_LIMIT) = unit->entries[i].limit;
    }
#if TILEWRIGHT_MPU_VERSION == 8
    *word_register(MPU_KINDS_0) = unit->kinds[0];
    *word_register(MPU_KINDS_1) = unit->kinds[1];
#endif
    *word_register(MPU_NUMBER) = unit->number;
    *word_register(MPU_CONTROL) = unit->control;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

/* A hard fault must be possible, and lead back here: in thread mode, which is privileged. */
static int may_enter(void)
{
    uint32_t exception, control, mask;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    __asm__ volatile("mrs %0, control" : "=r"(control));
    __asm__ volatile("mrs %0, faultmask" : "=r"(mask));
    return exception == 0u && (control & CONTROL_IS_UNPRIVILEGED) == 0u && mask == 0u;
}

static uintptr_t stack_pointer(void)
{
    uintptr_t pointer;
    __asm__ volatile("mov %0, sp" : "=r"(pointer));
    return pointer;
}

/* Whether the instruction at an address stores. Bit 4 of the first half of a long one says load,
 * bit 11 of most short ones. */
static int is_store(uintptr_t instruction)
{
    const uint32_t half = *(const volatile uint16_t *)(instruction & ~(uintptr_t)1);
    if (half >= 0xe800u) {
        return (half & 0x0010u) == 0u;
    }
    if (half >> 12 == 5u) {
        return ((half >> 9) & 7u) < 3u;
    }
    return (half & 0x0800u) == 0u;
}

static void tell(const struct mpu_way *way, uint32_t status, struct tilewright_violation *violation)
{
    violation->instruction = way->instruction;
    violation->address = 0;
    violation->access = TILEWRIGHT_ACCESS_OTHER;
    if ((status & FAULT_EXECUTE) != 0u) {
        violation->address = way->instruction;
        violation->access = TILEWRIGHT_ACCESS_EXECUTE;
    } else if ((status & (FAULT_DATA | FAULT_STACKING)) != 0u) {
        /* Without an instruction, the processor itself failed to push registers: a write. */
        const int stores = way->instruction == 0u || is_store(way->instruction);
        violation->access = stores ? TILEWRIGHT_ACCESS_WRITE : TILEWRIGHT_ACCESS_READ;
    }
    if ((status & FAULT_MEMORY_ADDRESS_IS_VALID) != 0u) {
        violation->address = *word_register(MEMORY_FAULT_ADDRESS);
    } else if ((status & FAULT_BUS_ADDRESS_IS_VALID) != 0u) {
        violation->address = *word_register(BUS_FAULT_ADDRESS);
    }
}

static void own_spans(struct mpu_span *spans, const struct mpu_way *way)
{
    const uintptr_t begin = (uintptr_t)tilewright_vectors;
    const uintptr_t end = (uintptr_t)tilewright_zero_table_end;
    spans[STACK_SPAN] = (struct mpu_span){way->bottom, way->top, 1, 0};
#if TILEWRIGHT_MPU_VERSION == 8
    spans[CODE_SPAN] = (struct mpu_span){begin, (uintptr_t)tilewright_code_end, 0, 1};
    spans[RODATA_SPAN] = (struct mpu_span){(uintptr_t)tilewright_rodata_start, end, 0, 0};
#else
    spans[CODE_SPAN] = (struct mpu_span){begin, end, 0, 1};
#endif
}

/* Call the work with the unit's new entries; returns what the faults' status says. Inlined whatever
 * the optimisation: a frame of its own would lie below the stack pointer that tilewright_protected
 * has read, where the layers' stack begins. */
__attribute__((always_inline)) static inline uint32_t
work_within(struct unit *unit, const struct unit *before, uint32_t count,
            int (*work)(void *argument), void *argument, struct mpu_way *way)
{
    *word_register(CONFIGURABLE_FAULT_STATUS) = UINT32_MAX;
    set(unit, count);
    tilewright_mpu_enter(work, argument, way);
    set(before, count);
    const uint32_t status = *word_register(CONFIGURABLE_FAULT_STATUS);
    *word_register(HARD_FAULT_STATUS) = HARD_FAULT_IS_FORCED;
    return status;
}

int tilewright_protected(int (*work)(void *argument), void *argument,
                         const struct tilewright_region *regions, uint32_t count,
                         uint32_t stack_bytes, struct tilewright_violation *violation)
{
    struct mpu_span spans[TILEWRIGHT_MPU_ENTRIES];
    const uint32_t most = entries_of_unit();
    const uint32_t granule = tilewright_mpu_stack_granule(stack_bytes);
    struct mpu_way way = {.counter = TILEWRIGHT_MPS2_TICKS};
    if (count + OWN_SPANS > most || !may_enter()) {
        return TILEWRIGHT_NOT_PROTECTED;
    }
    way.top = (stack_pointer() - TILEWRIGHT_MPU_FRAME_BYTES) / granule * granule;
    way.bottom = way.top - (stack_bytes + granule - 1u) / granule * granule;
    own_spans(spans, &way);
    for (uint32_t i = 0; i < count; ++i) {
        const uintptr_t begin = regions[i].address;
        const uint8_t writes = regions[i].is_writable != 0u ? 1 : 0;
        spans[i + OWN_SPANS] = (struct mpu_span){begin, begin + regions[i].size_bytes, writes, 0};
    }
    struct unit before,
        unit = {.control = MPU_ENABLE | MPU_PRIVILEGED_HAS_THE_REST, .kinds = {KINDS_0, KINDS_1}};
    if (tilewright_mpu_cover(spans, count + OWN_SPANS, unit.entries, most) == 0u) {
        return TILEWRIGHT_NOT_PROTECTED;
    }
    save(&before, most);
    const uint32_t status = work_within(&unit, &before, most, work, argument, &way);
    /* Some processors stop at the call that ends the work, others behind it. */
    const uintptr_t past = way.instruction - (uintptr_t)tilewright_mpu_returned;
    if (status == 0u && past <= TILEWRIGHT_MPU_CALL_BYTES) {
        return way.returned;
    }
    tell(&way, status, violation);
    *word_register(CONFIGURABLE_FAULT_STATUS) = UINT32_MAX;
    return TILEWRIGHT_VIOLATED;
}

__attribute__((weak)) void tilewright_violated(const struct tilewright_violation *violation)
{
    (void)violation;
}

#endif
