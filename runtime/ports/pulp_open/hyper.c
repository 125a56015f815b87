/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between external HyperRAM and L2 by the uDMA, one at a time, polled. */
#include "registers.h"

#define CLOCK_GATES 0x1a102000u
#define CHANNEL 8u
#define TRANSACTION 0x1a102480u
#define COMMON PULP_HYPER_COMMON

#define RX_ADDRESS (TRANSACTION + 0x00u)
#define RX_SIZE (TRANSACTION + 0x04u)
#define RX_CONFIGURATION (TRANSACTION + 0x08u)
#define TX_ADDRESS (TRANSACTION + 0x0cu)
#define TX_SIZE (TRANSACTION + 0x10u)
#define TX_CONFIGURATION (TRANSACTION + 0x14u)
#define COMMAND (TRANSACTION + 0x18u)
#define EXTERNAL_ADDRESS (TRANSACTION + 0x1cu)
#define STATUS (TRANSACTION + 0x24u)
#define START 0x14u
#define READ_MEMORY 5u
#define WRITE_MEMORY 1u
#define BUSY 0x1ffu

#define NO_PAGE_BOUND 4u
#define LATENCY 6u

static void set_up(void)
{
    static uint32_t is_ready;
    if (is_ready != 0u) {
        return;
    }
    is_ready = 1u;
    pulp_write(CLOCK_GATES, pulp_read(CLOCK_GATES) | (1u << CHANNEL));
    pulp_write(COMMON + 0x00u, NO_PAGE_BOUND);
    pulp_write(COMMON + 0x04u, LATENCY);
    pulp_write(COMMON + 0x08u, 1u);
    pulp_write(COMMON + 0x20u, 0u);
}

static void read_line(uint32_t l2, uint32_t external, uint32_t bytes)
{
    pulp_write(RX_ADDRESS, l2);
    pulp_write(RX_SIZE, bytes);
    pulp_write(COMMAND, READ_MEMORY);
    pulp_write(EXTERNAL_ADDRESS, external);
    pulp_write(RX_CONFIGURATION, START);
}

static void write_line(uint32_t l2, uint32_t external, uint32_t bytes)
{
    pulp_write(TX_ADDRESS, l2);
    pulp_write(TX_SIZE, bytes);
    pulp_write(COMMAND, WRITE_MEMORY);
    pulp_write(EXTERNAL_ADDRESS, external);
    pulp_write(TX_CONFIGURATION, START);
}

void pulp_hyper_copy(tilewright_address_t destination, tilewright_address_t source, uint32_t lines,
                     uint32_t line_bytes, int32_t destination_stride, int32_t source_stride)
{
    set_up();
    for (uint32_t line = 0; line < lines; line++) {
        if (pulp_is_hyper(source)) {
            read_line((uint32_t)destination, (uint32_t)(source - TILEWRIGHT_HYPER_BASE),
                      line_bytes);
        } else {
            write_line((uint32_t)source, (uint32_t)(destination - TILEWRIGHT_HYPER_BASE),
                       line_bytes);
        }
        while ((pulp_read(STATUS) & BUSY) != 0u) {
        }
        destination += (tilewright_address_t)destination_stride;
        source += (tilewright_address_t)source_stride;
    }
}
