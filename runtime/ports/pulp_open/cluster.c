/* SPDX-License-Identifier: Apache-2.0 */
/* Fork and join. On the fabric controller a fork goes to the cluster: its core 0 runs the work,
 * or shares it out. Between two forks the cluster's cores sleep. */
#include "registers.h"

#include <stddef.h>

/* What kernels of integers need; those of floats may want more, for which a plan with less of l1
 * leaves room. */
#ifndef TILEWRIGHT_PULP_STACK_BYTES
#define TILEWRIGHT_PULP_STACK_BYTES 592u
#endif
#define STACK_BYTES TILEWRIGHT_PULP_STACK_BYTES
/* What core 0 needs besides, to walk the program. */
#define WALK_BYTES 768u
#define FIRST_STACK_BYTES (STACK_BYTES + WALK_BYTES)
/* Words at a stack's end that nothing may have written: frames have holes. */
#define GUARD_WORDS 4u
#define PAINT 0x57acc0deu
#define PAINT_GAP_BYTES 64u
#define POSTS 8u

_Static_assert(STACK_BYTES % 16u == 0u, "TILEWRIGHT_PULP_STACK_BYTES is no multiple of 16");

typedef void (*work_function)(void *argument);

struct job {
    work_function work;
    void *argument;
};

struct post {
    tilewright_address_t destination;
    tilewright_address_t source;
    uint32_t lines;
    uint32_t line_bytes;
    int32_t destination_stride;
    int32_t source_stride;
};

/* What the fabric controller and core 0 tell each other, in L2. */
struct mailbox {
    volatile uint32_t booted;
    volatile uint32_t started;
    volatile uint32_t ended;
    volatile uint32_t cores;
    struct job job;
    volatile uint32_t posted;
    volatile uint32_t copied;
    struct post posts[POSTS];
};

static struct mailbox mailbox;
uint32_t pulp_stack_ends[TILEWRIGHT_PULP_CORES];

void pulp_cluster_start(void);
_Noreturn void pulp_cluster_main(uint32_t core);

static PULP_L1 struct job team_job;
static PULP_L1 uint32_t team_cores;
static PULP_L1 _Alignas(16) uint32_t first_stack[FIRST_STACK_BYTES / 4u];
static PULP_L1 _Alignas(16) uint32_t stacks[TILEWRIGHT_PULP_CORES - 1u][STACK_BYTES / 4u];

static uint32_t *stack_of(uint32_t core)
{
    return core == 0u ? first_stack : stacks[core - 1u];
}

uint32_t tilewright_stack_bytes(uint32_t core)
{
    return core == 0u ? FIRST_STACK_BYTES : STACK_BYTES;
}

uint32_t tilewright_stack_unused(uint32_t core)
{
    const volatile uint32_t *stack = stack_of(core);
    uint32_t words = 0;
    while (words < tilewright_stack_bytes(core) / 4u && stack[words] == PAINT) {
        words++;
    }
    return 4u * words;
}

/* Cluster: run the work on the first `cores` cores, the caller being core 0. */
static void share_out(uint32_t cores, work_function work, void *argument)
{
    if (cores <= 1u) {
        team_cores = 1u;
        work(argument);
        return;
    }
    const uint32_t team = (1u << cores) - 1u;
    if (team_cores != cores) {
        team_cores = cores;
        pulp_write(PULP_BARRIER_TRIGGER, team);
        pulp_write(PULP_BARRIER_TARGET, team);
    }
    team_job.work = work;
    team_job.argument = argument;
    pulp_fence();
    pulp_write(PULP_TEAM_EVENT + 4u * PULP_EVENT_START, team & ~1u);
    work(argument);
    tilewright_barrier();
}

static _Noreturn void follow(void)
{
    for (;;) {
        pulp_sleep(1u << PULP_EVENT_START);
        pulp_fence();
        team_job.work(team_job.argument);
        tilewright_barrier();
    }
}

static _Noreturn void lead(void)
{
    mailbox.booted = 1u;
    for (;;) {
        pulp_sleep(1u << PULP_EVENT_START);
        pulp_fence();
        if (mailbox.started == mailbox.ended) {
            continue;
        }
        share_out(mailbox.cores, mailbox.job.work, mailbox.job.argument);
        pulp_fence();
        mailbox.ended = mailbox.started;
    }
}

/* Each core paints its own stack, up to a little below what it uses: L1 is slow for the controller.
 */
static __attribute__((noinline)) void paint(uint32_t core)
{
    volatile uint32_t *word = stack_of(core);
    const uintptr_t end = (uintptr_t)&word - PAINT_GAP_BYTES;
    while ((uintptr_t)word < end) {
        *word = PAINT;
        word++;
    }
}

_Noreturn void pulp_cluster_main(uint32_t core)
{
    paint(core);
    if (core == 0u) {
        lead();
    }
    follow();
}

static void boot(void)
{
    for (uint32_t core = 0; core < TILEWRIGHT_PULP_CORES; core++) {
        pulp_stack_ends[core] = (uint32_t)(uintptr_t)stack_of(core) + tilewright_stack_bytes(core);
        pulp_write(PULP_BOOT_ADDRESS + 4u * core, (uint32_t)(uintptr_t)&pulp_cluster_start);
    }
    pulp_fence();
    pulp_write(PULP_CLUSTER_CACHE, 0xffffffffu);
    /* Core 0 last: it tells that it is ready when it has painted more than any other. */
    pulp_write(PULP_FETCH_ENABLE, (1u << TILEWRIGHT_PULP_CORES) - 2u);
    pulp_write(PULP_FETCH_ENABLE, (1u << TILEWRIGHT_PULP_CORES) - 1u);
    while (mailbox.booted == 0u) {
    }
}

static void serve_posts(void)
{
    while (mailbox.copied != mailbox.posted) {
        pulp_fence();
        const struct post *post = &mailbox.posts[mailbox.copied % POSTS];
        pulp_hyper_copy(post->destination, post->source, post->lines, post->line_bytes,
                        post->destination_stride, post->source_stride);
        pulp_fence();
        mailbox.copied++;
    }
}

static void check_stacks(void)
{
    for (uint32_t core = 0; core < TILEWRIGHT_PULP_CORES; core++) {
        if (tilewright_stack_unused(core) < 4u * GUARD_WORDS) {
            tilewright_console_write("the stack of a cluster core overflowed: build the port with "
                                     "a larger TILEWRIGHT_PULP_STACK_BYTES\n");
            tilewright_exit(TILEWRIGHT_STACK_STATUS);
        }
    }
}

static void run_on_cluster(uint32_t cores, work_function work, void *argument)
{
    if (mailbox.booted == 0u) {
        boot();
    }
    mailbox.job.work = work;
    mailbox.job.argument = argument;
    mailbox.cores = cores;
    mailbox.started++;
    pulp_fence();
    pulp_write(PULP_SOFTWARE_EVENT + 4u * PULP_EVENT_START, 1u);
    while (mailbox.ended != mailbox.started) {
        serve_posts();
    }
    pulp_fence();
    check_stacks();
}

void tilewright_fork(uint32_t cores, void (*work)(void *argument), void *argument)
{
    if (pulp_is_controller()) {
        run_on_cluster(cores, work, argument);
    } else {
        share_out(cores, work, argument);
    }
}

void tilewright_barrier(void)
{
    if (pulp_is_controller() || team_cores <= 1u) {
        return;
    }
    pulp_write(PULP_EVENT_MASK, 1u << PULP_EVENT_BARRIER);
    (void)pulp_read(PULP_BARRIER_WAIT);
    pulp_write(PULP_EVENT_MASK, 0u);
    pulp_fence();
}

tilewright_token_t pulp_post(tilewright_address_t destination, tilewright_address_t source,
                             uint32_t lines, uint32_t line_bytes, int32_t destination_stride,
                             int32_t source_stride)
{
    while (mailbox.posted - mailbox.copied == POSTS) {
        tilewright_idle();
    }
    const struct post post = {destination,        source,       lines, line_bytes,
                              destination_stride, source_stride};
    mailbox.posts[mailbox.posted % POSTS] = post;
    pulp_fence();
    mailbox.posted++;
    return mailbox.posted & ~PULP_POSTED;
}

enum tilewright_port_status pulp_post_wait(tilewright_token_t token)
{
    while ((int32_t)((token - mailbox.copied) << 1) > 0) {
        tilewright_idle();
    }
    pulp_fence();
    return TILEWRIGHT_PORT_OK;
}
