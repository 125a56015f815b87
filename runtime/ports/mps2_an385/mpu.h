/* SPDX-License-Identifier: Apache-2.0 */
/* The memory protection unit (MPU) of Armv7-M and Armv8-M, and the way into unprivileged mode and
 * back. */
#ifndef TILEWRIGHT_MPS2_MPU_H
#define TILEWRIGHT_MPS2_MPU_H

#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
#define TILEWRIGHT_MPU_VERSION 8
#define TILEWRIGHT_MPU_STACK_SLACK 32
#elif defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__)
#define TILEWRIGHT_MPU_VERSION 7
#define TILEWRIGHT_MPU_STACK_SLACK 512
#else
#define TILEWRIGHT_MPU_VERSION 0
#endif
#define TILEWRIGHT_HAS_MPU (TILEWRIGHT_MPU_VERSION != 0)

#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
#define TILEWRIGHT_MPU_SAVES_FLOATS 1
#define TILEWRIGHT_MPU_FRAME_BYTES 136
#else
#define TILEWRIGHT_MPU_SAVES_FLOATS 0
#define TILEWRIGHT_MPU_FRAME_BYTES 64
#endif

/* TILEWRIGHT_MPU_STACK_SLACK: what the alignment of the layers' stack takes at most.
 * TILEWRIGHT_MPU_FRAME_BYTES: registers that tilewright_mpu_enter saves on the caller's stack. */

/* Bytes of a supervisor call. */
#define TILEWRIGHT_MPU_CALL_BYTES 2

#ifndef __ASSEMBLER__

#include <stdint.h>

#if TILEWRIGHT_HAS_MPU

#ifdef __cplusplus
extern "C" {
#endif

/* Entries of the unit that the port uses at most. */
#if TILEWRIGHT_MPU_VERSION == 8
#define TILEWRIGHT_MPU_ENTRIES 16u
#else
#define TILEWRIGHT_MPU_ENTRIES 8u
#endif

/* Bytes [begin, end) that layers read, and write or execute where they may. `end` is not 0. */
struct mpu_span {
    uintptr_t begin;
    uintptr_t end;
    uint8_t writes;
    uint8_t executes;
};

/* The two registers of an entry that has been selected: base, and limit or size with rights. */
struct mpu_entry {
    uint32_t base;
    uint32_t limit;
};

/* Granule of the layers' stack: its top is a multiple, and so is its size. */
uint32_t tilewright_mpu_stack_granule(uint32_t stack_bytes);

/* Entries for the spans; their count, or 0 if `most` do not suffice. What is rounded to the unit's
 * granule is rounded outwards. */
uint32_t tilewright_mpu_cover(const struct mpu_span *spans, uint32_t count,
                              struct mpu_entry *entries, uint32_t most);

/* Unprivileged mode's stack, the register that tilewright_mpu_count reads, and how the work ended:
 * what it returned, and the address of the instruction where it stopped, or 0 if that cannot be
 * known. */
struct mpu_way {
    uintptr_t top;
    uintptr_t bottom;
    int32_t returned;
    uintptr_t instruction;
    uintptr_t counter;
};

/* work(argument) in unprivileged thread mode. */
void tilewright_mpu_enter(int (*work)(void *argument), void *argument, struct mpu_way *way);

/* The instruction at which work that has returned stops. */
extern const uint8_t tilewright_mpu_returned[];

/* Ticks of the board's counter, from unprivileged mode. */
uint32_t tilewright_mpu_count(void);

#ifdef __cplusplus
}
#endif

#endif

#endif

#endif
