/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between L2 and L1 by the cluster's DMA (mchan). A copy is one of its 16 counters; each
 * link keeps its counters in the order of their start. */
#include "registers.h"

#define LINKS 8u
#define IN_FLIGHT 4u
#define COUNTERS 16u

#define TO_L1 (1u << 17)
#define INCREMENT (1u << 18)
#define STRIDED (1u << 19)
#define EVENT (1u << 20)
#define MOST_BYTES 0x1fffcu

/* As much as the DMA tells apart; chips have less. */
#define L1_BASE 0x10000000u
#define L1_END 0x10100000u

/* Counters that are in flight, oldest first; `first` is the token of the oldest. */
struct queue {
    uint8_t counters[IN_FLIGHT];
    uint32_t count;
    uint32_t first;
};

static PULP_L1 struct queue queues[LINKS];
static PULP_L1 uint32_t allocated;

static uint32_t port(void)
{
    return pulp_is_controller() ? PULP_FC_DMA : PULP_CORE_DMA;
}

static void await_counter(uint32_t counter)
{
    const uint32_t status = port() + 4u;
    while ((pulp_read(status) & (1u << counter)) != 0u) {
        tilewright_idle();
        if (!pulp_is_controller()) {
            pulp_sleep(1u << PULP_EVENT_DMA);
        }
    }
    pulp_write(status, 1u << counter);
}

/* The oldest copy of a link is complete after this. */
static void retire(struct queue *queue)
{
    await_counter(queue->counters[0]);
    for (uint32_t i = 1; i < queue->count; i++) {
        queue->counters[i - 1u] = queue->counters[i];
    }
    queue->count--;
    queue->first++;
    allocated--;
}

/* One command on the counter that was read before; 2-D on the side of L2 only. */
static void command(tilewright_address_t near, tilewright_address_t far, uint32_t lines,
                    uint32_t line_bytes, int32_t far_stride, uint32_t direction)
{
    const uint32_t commands = port();
    pulp_write(commands,
               (lines * line_bytes) | direction | INCREMENT | EVENT | (lines > 1u ? STRIDED : 0u));
    pulp_write(commands, (uint32_t)near);
    pulp_write(commands, (uint32_t)far);
    if (lines > 1u) {
        pulp_write(commands, line_bytes);
        pulp_write(commands, (uint32_t)far_stride);
    }
}

static tilewright_address_t moved(tilewright_address_t address, uint32_t lines, int32_t stride)
{
    return address + (tilewright_address_t)((int32_t)lines * stride);
}

static void long_line(tilewright_address_t near, tilewright_address_t far, uint32_t bytes,
                      uint32_t direction)
{
    while (bytes > 0u) {
        const uint32_t part = bytes < MOST_BYTES ? bytes : MOST_BYTES;
        command(near, far, 1u, part, 0, direction);
        near += part;
        far += part;
        bytes -= part;
    }
}

static void all_lines(tilewright_address_t near, tilewright_address_t far, uint32_t lines,
                      uint32_t line_bytes, int32_t near_stride, int32_t far_stride,
                      uint32_t direction)
{
    const int is_packed = near_stride == (int32_t)line_bytes && far_stride > 0;
    const uint32_t most = is_packed ? MOST_BYTES / line_bytes : 1u;
    while (lines > 0u && line_bytes <= MOST_BYTES) {
        const uint32_t part = lines < most ? lines : most;
        command(near, far, part, line_bytes, far_stride, direction);
        near = moved(near, part, near_stride);
        far = moved(far, part, far_stride);
        lines -= part;
    }
    for (; lines > 0u; lines--) {
        long_line(near, far, line_bytes, direction);
        near = moved(near, 1u, near_stride);
        far = moved(far, 1u, far_stride);
    }
}

tilewright_token_t pulp_dma_start(uint32_t link, tilewright_address_t destination,
                                  tilewright_address_t source, uint32_t lines, uint32_t line_bytes,
                                  int32_t destination_stride, int32_t source_stride)
{
    struct queue *queue = &queues[link % LINKS];
    if (queue->first == 0u) {
        queue->first = TILEWRIGHT_NO_COPY + 1u;
    }
    if (queue->count == IN_FLIGHT) {
        retire(queue);
    }
    for (uint32_t other = 0; allocated == COUNTERS && other < LINKS; other++) {
        if (queues[other].count != 0u) {
            retire(&queues[other]);
        }
    }
    const uint32_t counter = pulp_read(port());
    allocated++;
    queue->counters[queue->count] = (uint8_t)counter;
    queue->count++;
    const int is_inward = destination >= L1_BASE && destination < L1_END;
    if (is_inward) {
        all_lines(destination, source, lines, line_bytes, destination_stride, source_stride, TO_L1);
    } else {
        all_lines(source, destination, lines, line_bytes, source_stride, destination_stride, 0u);
    }
    return (queue->first + queue->count - 1u) & ~PULP_POSTED;
}

void pulp_dma_wait(uint32_t link, tilewright_token_t token)
{
    struct queue *queue = &queues[link % LINKS];
    while (queue->count != 0u && (int32_t)((token - queue->first) << 1) >= 0) {
        retire(queue);
    }
    pulp_fence();
}
