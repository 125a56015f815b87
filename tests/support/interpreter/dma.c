/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster's DMA (mchan): copies between L1 and L2, counted by 16 counters. Early, a copy is
 * made when its command is complete; late, when somebody looks whether it is, when the queue is
 * full, or when nothing else can go on. Programs must give the same bits in both ways. */
#include "machine.h"

#include <stddef.h>
#include <string.h>

enum { COMMAND = 0, STATUS = 4 };
enum { EVENT = 8 };

#define BYTES_MASK 0x1ffffu
#define TO_L1 (1u << 17)
#define INCREMENT (1u << 18)
#define STRIDED (1u << 19)
#define HAS_EVENT (1u << 20)
#define KNOWN (BYTES_MASK | TO_L1 | INCREMENT | STRIDED | HAS_EVENT)

static void move(struct machine *machine, const struct copy *copy)
{
    uint32_t done = 0;
    for (uint32_t line = 0; done < copy->bytes; line++) {
        const uint32_t left = copy->bytes - done;
        const uint32_t bytes = left < copy->line_bytes ? left : copy->line_bytes;
        uint8_t *near = machine_memory(machine, copy->near + done, bytes);
        uint8_t *far = machine_memory(machine, copy->far + line * copy->far_stride, bytes);
        memcpy(copy->is_inward ? near : far, copy->is_inward ? far : near, bytes);
        done += bytes;
    }
}

int complete_copy(struct machine *machine)
{
    struct dma *dma = &machine->dma;
    if (dma->count == 0u) {
        return 0;
    }
    const struct copy copy = dma->queue[dma->first];
    dma->first = (dma->first + 1u) % QUEUE;
    dma->count--;
    dma->pending[copy.counter]--;
    move(machine, &copy);
    if (copy.has_event && copy.issuer != CONTROLLER) {
        send_events(machine, 1u << copy.issuer, 1u << EVENT);
    }
    return 1;
}

/* Both sides lie in the memories that this DMA joins. */
static int is_reachable(struct machine *machine, const struct copy *copy)
{
    if (copy->near - L1_BASE >= machine->l1_size ||
        machine_memory(machine, copy->near, copy->bytes) == NULL) {
        return 0;
    }
    uint32_t done = 0;
    for (uint32_t line = 0; done < copy->bytes; line++) {
        const uint32_t far = copy->far + line * copy->far_stride;
        const uint32_t left = copy->bytes - done;
        const uint32_t bytes = left < copy->line_bytes ? left : copy->line_bytes;
        if (far - L2_BASE >= L2_SIZE || machine_memory(machine, far, bytes) == NULL) {
            return 0;
        }
        if (!copy->is_inward && machine->use[(far - L2_BASE) / 2u] != USE_DATA) {
            return 0;
        }
        done += bytes;
    }
    return 1;
}

static void start(struct hart *hart, const struct copy *copy)
{
    struct machine *machine = hart->machine;
    struct dma *dma = &machine->dma;
    if (!is_reachable(machine, copy)) {
        trap(hart, CAUSE_STORE, "copies %u bytes between 0x%08x and 0x%08x, outside L1 and L2",
             copy->bytes, copy->near, copy->far);
        return;
    }
    if (dma->count == QUEUE) {
        (void)complete_copy(machine);
    }
    dma->queue[(dma->first + dma->count) % QUEUE] = *copy;
    dma->count++;
    dma->pending[copy->counter]++;
    if (!dma->is_late) {
        (void)complete_copy(machine);
    }
}

/* Words of a command: what and how much, in L1, in L2, and for lines their length and stride. */
static int take_word(struct hart *hart, uint32_t value)
{
    struct dma_command *command = &hart->command;
    command->words[command->count++] = value;
    const uint32_t what = command->words[0];
    const int is_strided = (what & STRIDED) != 0u;
    if ((what & ~KNOWN) != 0u || (what & INCREMENT) == 0u || (what & BYTES_MASK) == 0u) {
        trap(hart, CAUSE_STORE, "the DMA command 0x%08x is not modelled", what);
        return 1;
    }
    if (command->count < (is_strided ? 5u : 3u)) {
        return 1;
    }
    const uint32_t bytes = what & BYTES_MASK;
    const struct copy copy = {.issuer = hart->index,
                              .counter = hart->counter,
                              .near = command->words[1],
                              .far = command->words[2],
                              .bytes = bytes,
                              .line_bytes = is_strided ? command->words[3] : bytes,
                              .far_stride = is_strided ? command->words[4] : 0u,
                              .is_inward = (what & TO_L1) != 0u,
                              .has_event = (what & HAS_EVENT) != 0u};
    command->count = 0;
    if (copy.line_bytes == 0u || hart->counter >= COUNTERS) {
        trap(hart, CAUSE_STORE, "a copy of lines without bytes, or without a counter");
        return 1;
    }
    start(hart, &copy);
    return 1;
}

/* The counters whose copies are under way. */
static uint32_t status_of(const struct dma *dma)
{
    uint32_t status = 0;
    for (uint32_t counter = 0; counter < COUNTERS; counter++) {
        status |= (uint32_t)(dma->pending[counter] != 0u) << counter;
    }
    return status;
}

int load_dma(struct hart *hart, uint32_t offset, uint32_t *value)
{
    struct dma *dma = &hart->machine->dma;
    if (offset == STATUS) {
        *value = status_of(dma);
        (void)complete_copy(hart->machine);
        return 1;
    }
    for (uint32_t counter = 0; counter < COUNTERS; counter++) {
        if ((dma->taken >> counter & 1u) == 0u) {
            dma->taken |= 1u << counter;
            hart->counter = counter;
            *value = counter;
            return 1;
        }
    }
    trap(hart, CAUSE_LOAD, "takes a counter of the DMA, and all are in use");
    return 1;
}

int store_dma(struct hart *hart, uint32_t offset, uint32_t value)
{
    struct dma *dma = &hart->machine->dma;
    if (offset == COMMAND) {
        return take_word(hart, value);
    }
    if ((status_of(dma) & value) != 0u || (dma->taken & value) != value) {
        trap(hart, CAUSE_STORE, "frees the DMA's counters 0x%04x, which are busy or free", value);
        return 1;
    }
    dma->taken &= ~value;
    return 1;
}
