/* SPDX-License-Identifier: Apache-2.0 */
/* Registers of devices by address: of the SoC, of the cluster, and of each core's own view. */
#include "machine.h"

enum {
    FETCH_ENABLE = 0x10200008,
    BOOT_ADDRESS = 0x10200040,
    SOFTWARE_EVENT = 0x10200e00,
    CLUSTER_CACHE = 0x10201400,
    CONTROLLER_DMA = 0x10201800,
    EVENT_UNIT = 0x10204000,
    CORE_DMA = 0x10204400,
    HYPER = 0x1a102000,
    EXIT = 0x1a1040a0,
    CONTROLLER_CACHE = 0x1a108800
};

#define EXIT_VALID 0x80000000u

/* Where a register lies in a block of so many bytes. */
static int is_in(uint32_t address, uint32_t base, uint32_t size_bytes)
{
    return address - base < size_bytes;
}

int load_register(struct hart *hart, uint32_t address, uint32_t *value)
{
    const int is_controller = hart->index == CONTROLLER;
    if (is_in(address, HYPER, 0x1000)) {
        return is_controller && load_hyper(hart, address - HYPER, value);
    }
    if (is_controller) {
        return is_in(address, CONTROLLER_DMA, 8) && load_dma(hart, address - CONTROLLER_DMA, value);
    }
    if (is_in(address, CORE_DMA, 8)) {
        return load_dma(hart, address - CORE_DMA, value);
    }
    return is_in(address, EVENT_UNIT, 0x400) && load_event(hart, address - EVENT_UNIT, value);
}

static int enable(struct machine *machine, uint32_t cores)
{
    for (uint32_t core = 0; core < CLUSTER_CORES; core++) {
        struct hart *hart = &machine->harts[core];
        if ((cores >> core & 1u) != 0u && hart->state == HART_OFF) {
            hart->pc = hart->boot_address;
            hart->state = HART_RUNS;
        }
    }
    return 1;
}

static int store_of_controller(struct hart *hart, uint32_t address, uint32_t value)
{
    struct machine *machine = hart->machine;
    if (is_in(address, CONTROLLER_DMA, 8)) {
        return store_dma(hart, address - CONTROLLER_DMA, value);
    }
    if (is_in(address, HYPER, 0x1000)) {
        return store_hyper(hart, address - HYPER, value);
    }
    if (is_in(address, BOOT_ADDRESS, 4u * CLUSTER_CORES)) {
        machine->harts[(address - BOOT_ADDRESS) / 4u].boot_address = value;
        return 1;
    }
    if (address == FETCH_ENABLE) {
        return enable(machine, value);
    }
    return address == CLUSTER_CACHE || address == CONTROLLER_CACHE;
}

int store_register(struct hart *hart, uint32_t address, uint32_t value)
{
    struct machine *machine = hart->machine;
    if (address == EXIT && (value & EXIT_VALID) != 0u) {
        machine->has_ended = 1;
        machine->status = (int)(value & 0xffu);
        return 1;
    }
    if (is_in(address, SOFTWARE_EVENT, 32)) {
        send_events(machine, value, 1u << (address - SOFTWARE_EVENT) / 4u);
        return 1;
    }
    if (hart->index == CONTROLLER) {
        return store_of_controller(hart, address, value);
    }
    if (is_in(address, CORE_DMA, 8)) {
        return store_dma(hart, address - CORE_DMA, value);
    }
    return is_in(address, EVENT_UNIT, 0x400) && store_event(hart, address - EVENT_UNIT, value);
}
