/* SPDX-License-Identifier: Apache-2.0 */
/* What QEMU's mps2-an385 and its relatives count. */
#include "mps2_an385.h"

#include <tilewright/port.h>

static volatile uint32_t *word_register(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

#if defined(TILEWRIGHT_MPS2_COUNTER)

void tilewright_cycles_open(void)
{
}

/* Instructions, in steps of one tick of the board's counter. */
uint32_t tilewright_cycles(void)
{
    return TILEWRIGHT_MPS2_INSTRUCTIONS(*word_register(TILEWRIGHT_MPS2_COUNTER));
}

#else

#define TIMER_CONTROL TILEWRIGHT_MPS2_TIMER
#define TIMER_VALUE (TILEWRIGHT_MPS2_TIMER + 0x4u)
#define TIMER_RELOAD (TILEWRIGHT_MPS2_TIMER + 0x8u)
#define TIMER_ENABLE 1u

void tilewright_cycles_open(void)
{
    *word_register(TIMER_RELOAD) = UINT32_MAX;
    *word_register(TIMER_VALUE) = UINT32_MAX;
    *word_register(TIMER_CONTROL) = TIMER_ENABLE;
}

/* Instructions, in steps of one tick of timer 0, which counts down. */
uint32_t tilewright_cycles(void)
{
    return TILEWRIGHT_MPS2_INSTRUCTIONS(UINT32_MAX - *word_register(TIMER_VALUE));
}

#endif
