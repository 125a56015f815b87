/* SPDX-License-Identifier: Apache-2.0 */
/* External HyperRAM behind the uDMA: transaction 0, which the controller polls. */
#include "machine.h"

#include <string.h>

enum {
    CLOCK_GATES = 0x000,
    TRANSACTION = 0x480,
    RX_ADDRESS = TRANSACTION,
    RX_SIZE = TRANSACTION + 0x04,
    RX_START = TRANSACTION + 0x08,
    TX_ADDRESS = TRANSACTION + 0x0c,
    TX_SIZE = TRANSACTION + 0x10,
    TX_START = TRANSACTION + 0x14,
    COMMAND = TRANSACTION + 0x18,
    EXTERNAL = TRANSACTION + 0x1c,
    STATUS = TRANSACTION + 0x24,
    COMMON = 0x880,
    COMMON_BYTES = 0x24
};
enum { READ, WRITE };
enum { START = 0x14, READ_MEMORY = 5, WRITE_MEMORY = 1, CLOCK = 1 << 8 };

/* Reads come in whole words, so that up to three bytes behind them change. */
static int transfer(struct hart *hart, int way, uint32_t value)
{
    struct machine *machine = hart->machine;
    struct hyper *hyper = &machine->hyper;
    const uint32_t wanted = way == READ ? READ_MEMORY : WRITE_MEMORY;
    const uint32_t bytes = way == READ ? (hyper->size[way] + 3u) & ~3u : hyper->size[way];
    uint8_t *l2 = machine_memory(machine, hyper->l2[way], bytes);
    const int is_inside = hyper->address < HYPER_SIZE && bytes <= HYPER_SIZE - hyper->address;
    if (value != START || hyper->command != wanted || !hyper->has_clock) {
        trap(hart, CAUSE_STORE, "starts a transfer of HyperRAM that is not modelled");
    } else if (l2 == 0 || hyper->l2[way] - L2_BASE >= L2_SIZE || !is_inside) {
        trap(hart, CAUSE_STORE, "moves %u bytes between L2 at 0x%08x and HyperRAM at 0x%08x", bytes,
             hyper->l2[way], hyper->address);
    } else if (way == READ) {
        memcpy(l2, hyper->bytes + hyper->address, bytes);
    } else {
        memcpy(hyper->bytes + hyper->address, l2, bytes);
    }
    return 1;
}

int load_hyper(struct hart *hart, uint32_t offset, uint32_t *value)
{
    if (offset == CLOCK_GATES) {
        *value = hart->machine->hyper.has_clock ? CLOCK : 0u;
        return 1;
    }
    *value = 0;
    return offset == STATUS;
}

int store_hyper(struct hart *hart, uint32_t offset, uint32_t value)
{
    struct hyper *hyper = &hart->machine->hyper;
    switch (offset) {
    case CLOCK_GATES:
        hyper->has_clock = (value & CLOCK) != 0u;
        return 1;
    case RX_ADDRESS:
    case TX_ADDRESS:
        hyper->l2[offset == RX_ADDRESS ? READ : WRITE] = value;
        return 1;
    case RX_SIZE:
    case TX_SIZE:
        hyper->size[offset == RX_SIZE ? READ : WRITE] = value;
        return 1;
    case COMMAND:
        hyper->command = value;
        return 1;
    case EXTERNAL:
        hyper->address = value;
        return 1;
    case RX_START:
    case TX_START:
        return transfer(hart, offset == RX_START ? READ : WRITE, value);
    default: /* How the channel is set up, which changes no bits. */
        return offset - COMMON < COMMON_BYTES;
    }
}
