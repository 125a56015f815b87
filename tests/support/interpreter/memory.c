/* SPDX-License-Identifier: Apache-2.0 */
/* L1, L2, and the addresses of registers. Words may lie at any address, as the cores allow. */
#include "machine.h"

#include <stddef.h>
#include <string.h>

uint8_t *machine_memory(struct machine *machine, uint32_t address, uint32_t size_bytes)
{
    if (address - L1_BASE < machine->l1_size) {
        const uint32_t offset = address - L1_BASE;
        return size_bytes <= machine->l1_size - offset ? machine->l1 + offset : NULL;
    }
    if (address - L2_BASE < L2_SIZE) {
        const uint32_t offset = address - L2_BASE;
        return size_bytes <= L2_SIZE - offset ? machine->l2 + offset : NULL;
    }
    return NULL;
}

static int is_register(uint32_t address)
{
    return address - 0x10200000u < 0x00010000u || address - 0x1a100000u < 0x00020000u;
}

uint32_t load(struct hart *hart, uint32_t address, uint32_t size_bytes)
{
    const uint8_t *from = machine_memory(hart->machine, address, size_bytes);
    uint32_t value = 0;
    if (from != NULL) {
        memcpy(&value, from, size_bytes);
        return value;
    }
    if (!is_register(address)) {
        trap(hart, CAUSE_LOAD, "loads %u bytes at 0x%08x, where no memory is", size_bytes, address);
    } else if (size_bytes != 4u || address % 4u != 0u || !load_register(hart, address, &value)) {
        trap(hart, CAUSE_LOAD, "loads %u bytes of a register at 0x%08x that is not modelled",
             size_bytes, address);
    }
    return value;
}

/* Whether a store meets code or constants, which no program of the tests changes. */
static int is_allowed(struct hart *hart, uint32_t address, uint32_t size_bytes)
{
    if (address - L2_BASE >= L2_SIZE) {
        return 1;
    }
    const uint8_t *use = hart->machine->use + (address - L2_BASE) / 2u;
    const uint8_t *last = hart->machine->use + (address - L2_BASE + size_bytes - 1u) / 2u;
    for (; use <= last; use++) {
        if (*use != USE_DATA) {
            trap(hart, CAUSE_STORE, "stores %u bytes at 0x%08x, in %s", size_bytes, address,
                 *use == USE_CODE ? "code" : "constants");
            return 0;
        }
    }
    return 1;
}

void store(struct hart *hart, uint32_t address, uint32_t size_bytes, uint32_t value)
{
    uint8_t *to = machine_memory(hart->machine, address, size_bytes);
    if (to != NULL) {
        if (is_allowed(hart, address, size_bytes)) {
            memcpy(to, &value, size_bytes);
        }
        return;
    }
    if (!is_register(address)) {
        trap(hart, CAUSE_STORE, "stores %u bytes at 0x%08x, where no memory is", size_bytes,
             address);
    } else if (size_bytes != 4u || address % 4u != 0u || !store_register(hart, address, value)) {
        trap(hart, CAUSE_STORE, "stores %u bytes to a register at 0x%08x that is not modelled",
             size_bytes, address);
    }
}
