/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between L2 and L1 by the cluster's DMA (mchan); those of HyperRAM go elsewhere. A copy is
 * one of its 16 counters, whatever number of commands it takes. Of what starts a copy, the most
 * costs the instruction cache, so the usual way is short and every copy takes it. */
#include "registers.h"

/* Links share queues where there are more: waiting may then take longer, never less long. */
#define QUEUES 4u
#define IN_FLIGHT 4u

#define TO_L1 (1u << 17)
#define INCREMENT (1u << 18)
#define STRIDED (1u << 19)
#define EVENT (1u << 20)
#define MOST_BYTES 0x1fffcu

/* As much as the DMA tells apart; chips have less. */
#define L1_BASE 0x10000000u
#define L1_SIZE 0x00100000u

/* Copy n of a queue, counted from 1, has counter `counters[(n - 1) % IN_FLIGHT]` and the token
 * 2 n - 1, which is never TILEWRIGHT_NO_COPY when n wraps. */
struct queue {
    uint32_t started; /* 2 n of the last copy that was started */
    uint32_t ended;   /* 2 n of the last one that is known to be complete */
    uint8_t counters[IN_FLIGHT];
};

static PULP_L1 struct queue queues[QUEUES];

static uint32_t port(void)
{
    return pulp_is_controller() ? PULP_FC_DMA : PULP_CORE_DMA;
}

__attribute__((noinline)) static void await(uint32_t status, uint32_t counter)
{
    do {
        tilewright_idle();
        if (!pulp_is_controller()) {
            pulp_sleep(1u << PULP_EVENT_DMA);
        }
    } while ((pulp_read(status) & counter) != 0u);
}

/* The oldest copy of a queue is complete after this. */
static inline void retire(struct queue *queue)
{
    const uint32_t counter = 1u << queue->counters[queue->ended / 2u % IN_FLIGHT];
    const uint32_t status = port() + 4u;
    if ((pulp_read(status) & counter) != 0u) {
        await(status, counter);
    }
    pulp_write(status, counter);
    queue->ended += 2u;
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

/* What the DMA cannot do in one command: lines with gaps in L1, and many bytes. */
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

static inline tilewright_token_t started(struct queue *queue, uint32_t counter)
{
    queue->counters[queue->started / 2u % IN_FLIGHT] = (uint8_t)counter;
    queue->started += 2u;
    return (queue->started - 1u) & ~PULP_POSTED;
}

/* Any copy, by whoever asks. */
__attribute__((noinline)) static tilewright_token_t
start(uint32_t link, tilewright_address_t destination, tilewright_address_t source, uint32_t lines,
      uint32_t line_bytes, int32_t destination_stride, int32_t source_stride)
{
    if (pulp_is_hyper(destination) || pulp_is_hyper(source)) {
        return pulp_hyper_start(destination, source, lines, line_bytes, destination_stride,
                                source_stride);
    }
    struct queue *queue = &queues[link % QUEUES];
    if (queue->started - queue->ended == 2u * IN_FLIGHT) {
        retire(queue);
    }
    const uint32_t commands = port();
    const uint32_t counter = pulp_read(commands);
    if (destination - L1_BASE < L1_SIZE) {
        all_lines(commands, destination, source, lines, line_bytes, destination_stride,
                  source_stride, TO_L1);
    } else {
        all_lines(commands, source, destination, lines, line_bytes, source_stride,
                  destination_stride, 0u);
    }
    return started(queue, counter);
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
    const int is_packed = lines == 1u || (near_stride == (int32_t)line_bytes && far_stride > 0);
    if (!is_packed || lines * line_bytes > MOST_BYTES || pulp_is_controller() ||
        ((destination | source) & TILEWRIGHT_HYPER_BASE) != 0u ||
        queue->started - queue->ended == 2u * IN_FLIGHT) {
        return start(link, destination, source, lines, line_bytes, destination_stride,
                     source_stride);
    }
    const uint32_t counter = pulp_read(PULP_CORE_DMA);
    command(PULP_CORE_DMA, near, far, lines, line_bytes, far_stride, is_inward ? TO_L1 : 0u);
    return started(queue, counter);
}

__attribute__((noinline)) static enum tilewright_port_status retire_until(struct queue *queue,
                                                                          tilewright_token_t token)
{
    do {
        retire(queue);
    } while ((int32_t)((token - queue->ended) << 1) > 0);
    pulp_fence();
    return TILEWRIGHT_PORT_OK;
}

enum tilewright_port_status tilewright_copy_wait(uint32_t link, tilewright_token_t token)
{
    if ((token & PULP_POSTED) != 0u) {
        pulp_post_wait(token & ~PULP_POSTED);
        return TILEWRIGHT_PORT_OK;
    }
    struct queue *queue = &queues[link % QUEUES];
    if (token == TILEWRIGHT_NO_COPY || (int32_t)((token - queue->ended) << 1) <= 0) {
        pulp_fence();
        return TILEWRIGHT_PORT_OK;
    }
    return retire_until(queue, token);
}
