/* SPDX-License-Identifier: Apache-2.0 */
/* Core numbers and cycles, and who makes the copies of L3; cluster.c forks, dma.c copies. */
#include "registers.h"

tilewright_token_t pulp_hyper_start(tilewright_address_t destination, tilewright_address_t source,
                                    uint32_t lines, uint32_t line_bytes, int32_t destination_stride,
                                    int32_t source_stride)
{
    if (pulp_is_controller()) {
        pulp_hyper_copy(destination, source, lines, line_bytes, destination_stride, source_stride);
        return PULP_POSTED; /* the number of a copy before the first */
    }
    return pulp_post(destination, source, lines, line_bytes, destination_stride, source_stride) |
           PULP_POSTED;
}

/* Every core that is no worker counts as core 0. */
uint32_t tilewright_core_id(void)
{
    return pulp_is_controller() ? 0u : pulp_hart() % TILEWRIGHT_PULP_CORES;
}

/* mcycle (CSR 0xb00) counts on while a core sleeps; all domains have one clock after reset. */
uint32_t tilewright_cycles(void)
{
    uint32_t count;
    __asm__ volatile(".insn i 0x73, 2, %0, x0, -1280" : "=r"(count));
    return count;
}
