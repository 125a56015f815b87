/* SPDX-License-Identifier: Apache-2.0 */
/* Cores that work one after the other, the last one first if the environment has BACKWARD. With
 * the macro AT_ONCE they have done all when a fork has started, else they do all when it is joined.
 */
#include <stdlib.h>
#include <tilewright/port.h>

static uint32_t core;

void tilewright_fork(uint32_t cores, void (*work)(void *argument), void *argument)
{
    for (uint32_t i = 0; i < cores; i++) {
        core = getenv("BACKWARD") != NULL ? cores - 1u - i : i;
        work(argument);
    }
    core = 0;
}

#ifdef AT_ONCE
static const void *started;

void tilewright_fork_start(uint32_t cores, void (*work)(void *argument), void *argument)
{
    if (started != NULL) {
        abort();
    }
    tilewright_fork(cores, work, argument);
    started = argument;
}

void tilewright_fork_join(uint32_t cores, void (*work)(void *argument), void *argument)
{
    (void)cores;
    (void)work;
    if (started != argument) {
        abort();
    }
    started = NULL;
}
#endif

uint32_t tilewright_core_id(void)
{
    return core;
}
