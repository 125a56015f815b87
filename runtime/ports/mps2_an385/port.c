/* SPDX-License-Identifier: Apache-2.0 */
/* What QEMU's mps2-an385 counts. */
#include "mps2_an385.h"

#include <tilewright/port.h>

#define TIMER_CONTROL 0x40000000u
#define TIMER_VALUE 0x40000004u
#define TIMER_RELOAD 0x40000008u
#define TIMER_ENABLE 1u

/* Under -icount shift=0 QEMU lets an instruction take a nanosecond; the timer runs at 25 MHz. */
#define INSTRUCTIONS_PER_TICK 40u

static volatile uint32_t *word_register(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

void tilewright_cycles_open(void)
{
    *word_register(TIMER_RELOAD) = UINT32_MAX;
    *word_register(TIMER_VALUE) = UINT32_MAX;
    *word_register(TIMER_CONTROL) = TIMER_ENABLE;
}

/* Instructions, in steps of one tick of timer 0, which counts down. */
uint32_t tilewright_cycles(void)
{
    return (UINT32_MAX - *word_register(TIMER_VALUE)) * INSTRUCTIONS_PER_TICK;
}
