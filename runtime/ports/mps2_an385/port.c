/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of QEMU's mps2-an385 and related boards. */
#include "mps2_an385.h"
#include "mpu.h"

#include <tilewright/port.h>

#define CONTROL_IS_UNPRIVILEGED 0x1u

static volatile uint32_t *word_register(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

/* A layer that is protected has no right to devices. */
static uint32_t ticks(void)
{
#if TILEWRIGHT_HAS_MPU
    uint32_t control;
    __asm__ volatile("mrs %0, control" : "=r"(control));
    if ((control & CONTROL_IS_UNPRIVILEGED) != 0u) {
        return tilewright_mpu_count();
    }
#endif
    return *word_register(TILEWRIGHT_MPS2_TICKS);
}

#if !defined(TILEWRIGHT_MPS2_TIMER)

void tilewright_cycles_open(void)
{
}

/* Instructions, in steps of one tick of the board's counter. */
uint32_t tilewright_cycles(void)
{
    return TILEWRIGHT_MPS2_INSTRUCTIONS(ticks());
}

#else

#define TIMER_CONTROL TILEWRIGHT_MPS2_TIMER
#define TIMER_RELOAD (TILEWRIGHT_MPS2_TIMER + 0x8u)
#define TIMER_ENABLE 1u

void tilewright_cycles_open(void)
{
    *word_register(TIMER_RELOAD) = UINT32_MAX;
    *word_register(TILEWRIGHT_MPS2_TICKS) = UINT32_MAX;
    *word_register(TIMER_CONTROL) = TIMER_ENABLE;
}

/* Instructions, in steps of one tick of timer 0, which counts down. */
uint32_t tilewright_cycles(void)
{
    return TILEWRIGHT_MPS2_INSTRUCTIONS(UINT32_MAX - ticks());
}

#endif
