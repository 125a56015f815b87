/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between L2 and L1 by the cluster's DMA (mchan); those of HyperRAM go elsewhere. Copies
 * that are started over one link, with neither a wait nor another link between, are a group: one of
 * the DMA's 16 counters counts them all. Misses of the instruction cache are most of the cost of
 * starting a copy, so the code for the usual copy is short, and every copy runs through it. */
#include "registers.h"

#include <stddef.h>

/* With more links than queues, links share a queue: a wait may then take longer than needed. */
#define QUEUES 4u
#define IN_FLIGHT 4u

#define STATUS 4u /* behind the commands */
#define TO_L1 (1u << 17)
#define INCREMENT (1u << 18)
#define STRIDED (1u << 19)
#define EVENT (1u << 20)
#define MOST_BYTES 0x1fffcu

/* The L1 that the DMA can address; chips have less. */
#define L1_BASE 0x10000000u
#define L1_SIZE 0x00100000u

/* Group n of a queue, counted from 1, has bit `counters[(n - 1) % IN_FLIGHT]` of the DMA's status
 * and the token 2 n - 1, which is never TILEWRIGHT_NO_COPY when n wraps. */
struct queue {
    uint32_t started; /* 2 n of the last group that was started */
    uint32_t ended;   /* 2 n of the last one that is known to be complete */
    uint16_t counters[IN_FLIGHT];
};

static PULP_L1 struct queue queues[QUEUES];

/* The queue whose last group takes further copies, or NULL. */
static PULP_L1 struct queue *open;

static inline uint32_t port(void)
{
    return pulp_is_controller() ? PULP_FC_DMA : PULP_CORE_DMA;
}

static inline uint32_t oldest_counter(const struct queue *queue)
{
    return queue->counters[queue->ended / 2u % IN_FLIGHT];
}

static inline void free_counter(struct queue *queue, uint32_t counter, uint32_t commands)
{
    pulp_write(commands + STATUS, counter);
    queue->ended += 2u;
    open = NULL;
}

/* The oldest group of a queue is complete after this. */
static void retire(struct queue *queue)
{
    const uint32_t commands = port();
    const uint32_t counter = oldest_counter(queue);
    while ((pulp_read(commands + STATUS) & counter) != 0u) {
        tilewright_idle();
        if (!pulp_is_controller()) {
            pulp_sleep(1u << PULP_EVENT_DMA);
        }
    }
    free_counter(queue, counter, commands);
}

static inline int is_full(const struct queue *queue)
{
    return queue->started - queue->ended == 2u * IN_FLIGHT;
}

static inline int is_ahead(const struct queue *queue, tilewright_token_t token)
{
    return (int32_t)((token - queue->ended) << 1) > 0;
}

/* Begin a group: commands of this core are counted there until it takes another counter. */
static inline void take_counter(struct queue *queue, uint32_t commands)
{
    queue->counters[queue->started / 2u % IN_FLIGHT] = (uint16_t)(1u << pulp_read(commands));
    queue->started += 2u;
    open = queue;
}

/* One command on the counter that was read before; 2-D on the side of L2 only. */
static inline void command(uint32_t commands, tilewright_address_t near, tilewright_address_t far,
                           uint32_t lines, uint32_t line_bytes, int32_t far_stride,
                           uint32_t direction)
{
    const uint32_t strided = lines > 1u ? STRIDED : 0u;
    pulp_write(commands, (lines * line_bytes) | direction | INCREMENT | EVENT | strided);
    pulp_write(commands, (uint32_t)near);
    pulp_write(commands, (uint32_t)far);
    if (strided != 0u) {
        pulp_write(commands, line_bytes);
        pulp_write(commands, (uint32_t)far_stride);
    }
}

static tilewright_address_t moved(tilewright_address_t address, uint32_t lines, int32_t stride)
{
    return address + (tilewright_address_t)((int32_t)lines * stride);
}

static void long_line(uint32_t commands, tilewright_address_t near, tilewright_address_t far,
                      uint32_t bytes, uint32_t direction)
{
    while (bytes > 0u) {
        const uint32_t part = bytes < MOST_BYTES ? bytes : MOST_BYTES;
        command(commands, near, far, 1u, part, 0, direction);
        near += part;
        far += part;
        bytes -= part;
    }
}

/* Copies that the DMA cannot make by one command: lines with gaps in L1, or many bytes. */
static void all_lines(uint32_t commands, tilewright_address_t near, tilewright_address_t far,
                      uint32_t lines, uint32_t line_bytes, int32_t near_stride, int32_t far_stride,
                      uint32_t direction)
{
    const int is_packed = near_stride == (int32_t)line_bytes && far_stride > 0;
    const uint32_t most = is_packed ? MOST_BYTES / line_bytes : 1u;
    while (lines > 0u && line_bytes <= MOST_BYTES) {
        const uint32_t part = lines < most ? lines : most;
        command(commands, near, far, part, line_bytes, far_stride, direction);
        near = moved(near, part, near_stride);
        far = moved(far, part, far_stride);
        lines -= part;
    }
    for (; lines > 0u; lines--) {
        long_line(commands, near, far, line_bytes, direction);
        near = moved(near, 1u, near_stride);
        far = moved(far, 1u, far_stride);
    }
}

static inline tilewright_token_t last_token(const struct queue *queue)
{
    return (queue->started - 1u) & ~PULP_POSTED;
}

/* Any copy, by whoever asks; one of HyperRAM has its source as `near`. */
__attribute__((noinline)) static tilewright_token_t
start(struct queue *queue, tilewright_address_t near, tilewright_address_t far, uint32_t lines,
      uint32_t line_bytes, int32_t near_stride, int32_t far_stride, uint32_t direction)
{
    if (pulp_is_hyper(far) || pulp_is_hyper(near)) {
        return pulp_hyper_start(far, near, lines, line_bytes, far_stride, near_stride);
    }
    const uint32_t commands = port();
    if (is_full(queue)) {
        retire(queue);
    }
    take_counter(queue, commands);
    all_lines(commands, near, far, lines, line_bytes, near_stride, far_stride, direction);
    return last_token(queue);
}

/* Most copies are one command of a core's, and begin here without a stack frame. */
tilewright_token_t tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                         tilewright_address_t source, uint32_t lines,
                                         uint32_t line_bytes, int32_t destination_stride,
                                         int32_t source_stride)
{
    struct queue *queue = &queues[link % QUEUES];
    const int is_inward = destination - L1_BASE < L1_SIZE;
    const tilewright_address_t near = is_inward ? destination : source;
    const tilewright_address_t far = is_inward ? source : destination;
    const int32_t near_stride = is_inward ? destination_stride : source_stride;
    const int32_t far_stride = is_inward ? source_stride : destination_stride;
    const uint32_t direction = is_inward ? TO_L1 : 0u;
    const int is_packed = lines == 1u || (near_stride == (int32_t)line_bytes && far_stride > 0);
    if (!is_packed || lines * line_bytes > MOST_BYTES || pulp_is_controller() || is_full(queue) ||
        ((near | far) & TILEWRIGHT_HYPER_BASE) != 0u) {
        return start(queue, near, far, lines, line_bytes, near_stride, far_stride, direction);
    }
    if (open != queue) {
        take_counter(queue, PULP_CORE_DMA);
    }
    command(PULP_CORE_DMA, near, far, lines, line_bytes, far_stride, direction);
    return last_token(queue);
}

__attribute__((noinline)) static enum tilewright_port_status retire_until(struct queue *queue,
                                                                          tilewright_token_t token)
{
    do {
        retire(queue);
    } while (is_ahead(queue, token));
    pulp_fence();
    return TILEWRIGHT_PORT_OK;
}

/* Most waits are a core's for a group that is complete. */
enum tilewright_port_status tilewright_copy_wait(uint32_t link, tilewright_token_t token)
{
    struct queue *queue = &queues[link % QUEUES];
    if ((token & PULP_POSTED) != 0u) {
        return pulp_post_wait(token & ~PULP_POSTED);
    }
    while (token != TILEWRIGHT_NO_COPY && is_ahead(queue, token)) {
        const uint32_t counter = oldest_counter(queue);
        if (pulp_is_controller() || (pulp_read(PULP_CORE_DMA + STATUS) & counter) != 0u) {
            return retire_until(queue, token);
        }
        free_counter(queue, counter, PULP_CORE_DMA);
    }
    pulp_fence();
    return TILEWRIGHT_PORT_OK;
}
