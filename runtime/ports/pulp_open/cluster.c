/* SPDX-License-Identifier: Apache-2.0 */
/* Walk, fork and join. The fabric controller hands a program to the cluster's walker, which shares
 * calls out to the workers: cores 0 to 7. Where a program has several of them, the walker is the
 * control core beside them: it starts the next copies while they compute, which would else keep
 * them waiting. A program of one core is walked by core 0. Cores without work sleep. */
#include "registers.h"

#include <stddef.h>

/* The stack that most kernels need. Some need more: the models that a program is linked with say
 * how much, and their plans leave that room in l1. */
#ifndef TILEWRIGHT_PULP_STACK_BYTES
#ifdef TILEWRIGHT_CORE_STACK_BYTES
#define TILEWRIGHT_PULP_STACK_BYTES TILEWRIGHT_CORE_STACK_BYTES
#else
#define TILEWRIGHT_PULP_STACK_BYTES 512u
#endif
#endif
/* Frames of libgcc below kernels of floats, where cores do not compute floats themselves. Plans do
 * not know: the linker says whether this fits. */
#define SOFT_FLOAT_BYTES 128u
#if defined(TILEWRIGHT_ZFINX) && TILEWRIGHT_ZFINX
#define STACK_BYTES TILEWRIGHT_PULP_STACK_BYTES
#else
#define STACK_BYTES (TILEWRIGHT_PULP_STACK_BYTES + SOFT_FLOAT_BYTES)
#endif
/* The walker's stack: walking the program, and kernels that no cores share. */
#define WALK_BYTES 768u
#define WALKER_STACK_BYTES (STACK_BYTES + WALK_BYTES)
/* Words at a stack's end that nothing may have written: frames have holes. */
#define GUARD_WORDS 4u
#define PAINT 0x57acc0deu
#define PAINT_GAP_BYTES 64u
#define POSTS 8u

#define WORKERS TILEWRIGHT_PULP_CORES
#define CONTROL_CORE WORKERS
#define TEAM_BARRIER 0u
#define JOIN_BARRIER 1u

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

/* Messages between the fabric controller and the walker, in L2. */
struct mailbox {
    volatile uint32_t booted;
    volatile uint32_t started;
    volatile uint32_t ended;
    volatile uint32_t cores; /* 0: the walker itself runs the job */
    volatile uint32_t overflowed;
    struct job job;
    volatile uint32_t posted;
    volatile uint32_t copied;
    struct post posts[POSTS];
};

static struct mailbox mailbox;
uint32_t pulp_stack_ends[WORKERS + 1u];

void pulp_cluster_start(void);
_Noreturn void pulp_cluster_main(uint32_t core);

/* A stack that overflows runs into others first, or into the plan's bytes. */
static PULP_L1 struct {
    _Alignas(16) uint32_t stacks[WORKERS][STACK_BYTES / 4u];
    _Alignas(16) uint32_t walker_stack[WALKER_STACK_BYTES / 4u];
    struct job job;
    uint32_t team;
    uint32_t walker;
} cluster;

static uint32_t *stack_of(uint32_t core)
{
    return core == cluster.walker ? cluster.walker_stack : cluster.stacks[core];
}

/* The walker is one of them, or comes behind them. */
static uint32_t cores_that_run(void)
{
    return cluster.walker == CONTROL_CORE ? WORKERS + 1u : WORKERS;
}

uint32_t tilewright_stack_bytes(uint32_t core)
{
    return core == cluster.walker ? WALKER_STACK_BYTES : STACK_BYTES;
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

static __attribute__((noinline)) void gather(uint32_t cores)
{
    cluster.team = cores;
    pulp_write(PULP_BARRIER_TRIGGER_MASK(TEAM_BARRIER), cores);
    pulp_write(PULP_BARRIER_TARGET_MASK(TEAM_BARRIER), cores);
    pulp_write(PULP_BARRIER_TRIGGER_MASK(JOIN_BARRIER), cores);
    pulp_write(PULP_BARRIER_TARGET_MASK(JOIN_BARRIER), 1u << cluster.walker);
}

static inline void work_as(uint32_t core)
{
    cluster.job.work(cluster.job.argument);
    pulp_fence();
    pulp_write(PULP_BARRIER_TRIGGER(JOIN_BARRIER), 1u << core);
}

/* The walker is not kept; if it is core 0, it works when it joins. */
void tilewright_fork_start(uint32_t cores, work_function work, void *argument)
{
    const uint32_t workers = (1u << cores) - 1u;
    if (cluster.team != workers) {
        gather(workers);
    }
    cluster.job.work = work;
    cluster.job.argument = argument;
    pulp_fence();
    const uint32_t others = workers & ~(1u << cluster.walker);
    if (others != 0u) { /* A write of 0 would wake all. */
        pulp_write(PULP_TEAM_EVENT + 4u * PULP_EVENT_START, others);
    }
}

void tilewright_fork_join(uint32_t cores, work_function work, void *argument)
{
    (void)cores;
    (void)work;
    (void)argument;
    if (cluster.walker == 0u) {
        work_as(0u);
    }
    pulp_sleep(1u << PULP_EVENT_BARRIER);
    pulp_fence();
}

static _Noreturn void follow(uint32_t core)
{
    for (;;) {
        pulp_sleep(1u << PULP_EVENT_START);
        pulp_fence();
        work_as(core);
    }
}

/* Not 0 if something wrote to the last words of a stack. The walker looks after each run, because
 * L1 is slow for the controller. */
static uint32_t overflowed(void)
{
    uint32_t changed = 0;
    for (uint32_t core = 0; core < cores_that_run(); core++) {
        const volatile uint32_t *stack = stack_of(core);
        for (uint32_t i = 0; i < GUARD_WORDS; i++) {
            changed |= stack[i] ^ PAINT;
        }
    }
    return changed;
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
        if (mailbox.cores == 0u) {
            cluster.team = 0u;
            mailbox.job.work(mailbox.job.argument);
        } else {
            tilewright_fork(mailbox.cores, mailbox.job.work, mailbox.job.argument);
        }
        mailbox.overflowed = overflowed();
        pulp_fence();
        mailbox.ended = mailbox.started;
    }
}

/* Each core paints its own stack, up to a little below what it uses: L1 is slow for the controller.
 * Four words at a time, because the first inference waits for it. */
static __attribute__((noinline)) void paint(uint32_t core)
{
    volatile uint32_t *word = stack_of(core);
    const uintptr_t end = (uintptr_t)&word - PAINT_GAP_BYTES;
    while ((uintptr_t)(word + 4) <= end) {
        word[0] = PAINT;
        word[1] = PAINT;
        word[2] = PAINT;
        word[3] = PAINT;
        word += 4;
    }
}

_Noreturn void pulp_cluster_main(uint32_t core)
{
    paint(core);
    if (core == cluster.walker) {
        lead();
    }
    follow(core);
}

static void boot(void)
{
    const uint32_t cores = cores_that_run();
    for (uint32_t core = 0; core < cores; core++) {
        pulp_stack_ends[core] = (uint32_t)(uintptr_t)stack_of(core) + tilewright_stack_bytes(core);
        pulp_write(PULP_BOOT_ADDRESS + 4u * core, (uint32_t)(uintptr_t)&pulp_cluster_start);
    }
    pulp_fence();
    pulp_write(PULP_CLUSTER_CACHE, 0xffffffffu);
    /* The walker last: it tells that it is ready when it has painted more than any other. */
    const uint32_t all = (1u << cores) - 1u;
    pulp_write(PULP_FETCH_ENABLE, all & ~(1u << cluster.walker));
    pulp_write(PULP_FETCH_ENABLE, all);
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
    if (mailbox.overflowed != 0u) {
        tilewright_console_write("the stack of a cluster core overflowed: build the port with "
                                 "a larger TILEWRIGHT_PULP_STACK_BYTES\n");
        tilewright_exit(TILEWRIGHT_STACK_STATUS);
    }
}

/* Fabric controller: have the walker run the work, or share it out to `cores` cores. */
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
    pulp_write(PULP_SOFTWARE_EVENT + 4u * PULP_EVENT_START, 1u << cluster.walker);
    while (mailbox.ended != mailbox.started) {
        serve_posts();
    }
    pulp_fence();
    check_stacks();
}

/* The first program decides which core walks, because cores are started once. */
void tilewright_dispatch(uint32_t cores, work_function work, void *argument)
{
    if (mailbox.booted == 0u) {
        cluster.walker = cores > 1u ? CONTROL_CORE : 0u;
    }
    run_on_cluster(0u, work, argument);
}

void tilewright_fork(uint32_t cores, work_function work, void *argument)
{
    if (!pulp_is_controller()) {
        tilewright_fork_start(cores, work, argument);
        tilewright_fork_join(cores, work, argument);
        return;
    }
    if (mailbox.booted == 0u) {
        cluster.walker = CONTROL_CORE;
    }
    run_on_cluster(cores > 1u ? cores : 0u, work, argument);
}

/* Waits for the cores of a fork; a core that runs a job alone waits for none. */
void tilewright_barrier(void)
{
    if (pulp_is_controller() || pulp_hart() == CONTROL_CORE || cluster.team == 0u) {
        return;
    }
    pulp_write(PULP_EVENT_MASK, 1u << PULP_EVENT_BARRIER);
    (void)pulp_read(PULP_BARRIER_WAIT_CLEAR(TEAM_BARRIER));
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
