/* SPDX-License-Identifier: Apache-2.0 */
/* One core; copies by the core itself, complete when they have been started. */
#include "mps2_an385.h"

#include <tilewright/copy_lines.h>
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

tilewright_token_t tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                         tilewright_address_t source, uint32_t lines,
                                         uint32_t line_bytes, int32_t destination_stride,
                                         int32_t source_stride)
{
    (void)link;
    tilewright_copy_lines(destination, source, lines, line_bytes, destination_stride,
                          source_stride);
    return TILEWRIGHT_NO_COPY + 1u;
}

enum tilewright_port_status tilewright_copy_wait(uint32_t link, tilewright_token_t token)
{
    (void)link;
    (void)token;
    return TILEWRIGHT_PORT_OK;
}

void tilewright_fork(uint32_t cores, void (*work)(void *argument), void *argument)
{
    (void)cores;
    work(argument);
}

void tilewright_barrier(void)
{
}

uint32_t tilewright_core_id(void)
{
    return 0;
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

void tilewright_cache_clean(tilewright_address_t address, uint32_t size_bytes)
{
    (void)address;
    (void)size_bytes;
}

void tilewright_cache_invalidate(tilewright_address_t address, uint32_t size_bytes)
{
    (void)address;
    (void)size_bytes;
}

__attribute__((weak)) void tilewright_idle(void)
{
}
