/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults for ports on which the core that runs the layers also works on split calls. */
#include <tilewright/port.h>

__attribute__((weak)) void tilewright_fork_start(uint32_t cores, void (*work)(void *argument),
                                                 void *argument)
{
    (void)cores;
    (void)work;
    (void)argument;
}

__attribute__((weak)) void tilewright_fork_join(uint32_t cores, void (*work)(void *argument),
                                                void *argument)
{
    tilewright_fork(cores, work, argument);
}

__attribute__((weak)) void tilewright_dispatch(uint32_t cores, void (*work)(void *argument),
                                               void *argument)
{
    (void)cores;
    tilewright_fork(1u, work, argument);
}
