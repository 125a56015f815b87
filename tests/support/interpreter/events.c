/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster's event unit: events that cores wait for, and barriers. */
#include "machine.h"

enum {
    MASK = 0x00,
    MASK_CLEAR = 0x04,
    MASK_SET = 0x08,
    WAIT_CLEAR = 0x3c,
    SOFTWARE = 0x100,
    BARRIER = 0x200,
    BARRIER_TRIGGER_MASK = 0x00,
    BARRIER_STATUS = 0x04,
    BARRIER_TARGET_MASK = 0x0c,
    BARRIER_TRIGGER = 0x10,
    BARRIER_WAIT_CLEAR = 0x1c,
    BARRIER_BYTES = 0x20,
    BARRIER_EVENT = 16
};

/* Sends an event to the cores of a mask, or to all cores if the mask is zero. */
void send_events(struct machine *machine, uint32_t cores, uint32_t events)
{
    for (uint32_t core = 0; core < CLUSTER_CORES; core++) {
        struct hart *hart = &machine->harts[core];
        if (cores != 0u && (cores >> core & 1u) == 0u) {
            continue;
        }
        hart->events |= events;
        if (hart->state == HART_WAITS && (hart->events & hart->mask) != 0u) {
            hart->state = HART_RUNS;
        }
    }
}

/* The hart waits, and repeats this load, until an event of its mask has come. */
static int wait(struct hart *hart, uint32_t *value)
{
    const uint32_t came = hart->events & hart->mask;
    if (came == 0u) {
        hart->state = HART_WAITS;
        return 1;
    }
    hart->events &= ~came;
    hart->has_arrived = 0;
    *value = came;
    return 1;
}

static void arrive(struct machine *machine, struct barrier *barrier, uint32_t cores)
{
    barrier->status |= cores;
    if ((barrier->status & barrier->trigger_mask) != barrier->trigger_mask) {
        return;
    }
    barrier->status = 0;
    if (barrier->target_mask != 0u) {
        send_events(machine, barrier->target_mask, 1u << BARRIER_EVENT);
    }
}

static struct barrier *barrier_at(struct machine *machine, uint32_t offset)
{
    return &machine->barriers[(offset - BARRIER) / BARRIER_BYTES];
}

static int is_barrier(uint32_t offset)
{
    return offset - BARRIER < BARRIERS * BARRIER_BYTES;
}

int load_event(struct hart *hart, uint32_t offset, uint32_t *value)
{
    if (offset == WAIT_CLEAR) {
        return wait(hart, value);
    }
    if (!is_barrier(offset)) {
        return 0;
    }
    struct barrier *barrier = barrier_at(hart->machine, offset);
    if (offset % BARRIER_BYTES == BARRIER_STATUS) {
        *value = barrier->status;
        return 1;
    }
    if (offset % BARRIER_BYTES != BARRIER_WAIT_CLEAR) {
        return 0;
    }
    if (!hart->has_arrived) {
        hart->has_arrived = 1;
        arrive(hart->machine, barrier, 1u << hart->index);
    }
    return wait(hart, value);
}

static int store_barrier(struct machine *machine, uint32_t offset, uint32_t value)
{
    struct barrier *barrier = barrier_at(machine, offset);
    switch (offset % BARRIER_BYTES) {
    case BARRIER_TRIGGER_MASK:
        barrier->trigger_mask = value;
        return 1;
    case BARRIER_TARGET_MASK:
        barrier->target_mask = value;
        return 1;
    case BARRIER_TRIGGER:
        arrive(machine, barrier, value);
        return 1;
    default:
        return 0;
    }
}

int store_event(struct hart *hart, uint32_t offset, uint32_t value)
{
    if (is_barrier(offset)) {
        return store_barrier(hart->machine, offset, value);
    }
    if (offset - SOFTWARE < 32u) {
        send_events(hart->machine, value, 1u << (offset - SOFTWARE) / 4u);
        return 1;
    }
    switch (offset) {
    case MASK:
        hart->mask = value;
        return 1;
    case MASK_CLEAR:
        hart->mask &= ~value;
        return 1;
    case MASK_SET:
        hart->mask |= value;
        return 1;
    default:
        return 0;
    }
}
