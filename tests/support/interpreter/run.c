/* SPDX-License-Identifier: Apache-2.0 */
/* Takes turns: each hart runs a number of instructions, then the next one, always in one order. */
#include "operations.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RA = 1, SP = 2, GP = 3, A0 = 10 };
enum { NO_LOOP = 1 };
enum { UNWRITTEN = 0x57, UNWRITTEN_HYPER = 0xff };

static void name_hart(const struct hart *hart, char *text, size_t size)
{
    if (hart->index == CONTROLLER) {
        (void)snprintf(text, size, "the controller");
    } else {
        (void)snprintf(text, size, "core %u", hart->index);
    }
}

/* Tells where and why on standard error, then goes on with the program's handler. */
void trap(struct hart *hart, enum trap_cause cause, const char *format, ...)
{
    char who[32], why[200];
    va_list values;
    if (hart->has_trapped) {
        return;
    }
    va_start(values, format);
    (void)vsnprintf(why, sizeof why, format, values);
    va_end(values);
    const struct symbol *function = function_at(hart->machine, hart->pc);
    name_hart(hart, who, sizeof who);
    (void)fprintf(stderr, "interpreter: %s at 0x%08x in %s: %s\n", who, hart->pc,
                  function != NULL ? function->name : "no function", why);
    hart->has_trapped = 1;
    hart->mepc = hart->pc;
    hart->mcause = cause;
}

static void enter_handler(struct hart *hart)
{
    hart->has_trapped = 0;
    hart->loop.end = NO_LOOP;
    hart->next_pc = hart->mtvec & ~3u;
    if (hart->mtvec == 0u) {
        hart->machine->has_ended = 1;
        hart->machine->status = MACHINE_TRAPPED;
    }
}

/* NULL where the place must be looked at: nothing was executed there yet, or it is no code. */
static const struct instruction *known(const struct hart *hart)
{
    const uint32_t offset = hart->pc - L2_BASE;
    if (offset >= L2_SIZE || offset % 2u != 0u) {
        return NULL;
    }
    const struct instruction *in = &hart->machine->decoded[offset / 2u];
    return in->operation != NULL ? in : NULL;
}

static void run_one(struct hart *hart)
{
    const struct instruction *in = known(hart);
    if (in == NULL) {
        in = fetch(hart);
    }
    if (in != NULL) {
        hart->next_pc = hart->pc + in->size_bytes;
        in->operation->run(hart, in);
    }
    if (hart->has_trapped) {
        enter_handler(hart);
    } else if (hart->state == HART_WAITS) {
        return; /* and executes the instruction again */
    } else if (hart->pc == hart->loop.end) {
        hart->loop.count--;
        if (hart->loop.count > 0u) {
            hart->next_pc = hart->loop.start;
        } else {
            hart->loop.end = NO_LOOP;
        }
    }
    hart->pc = hart->next_pc;
}

static uint32_t run_turn(struct hart *hart, uint32_t most)
{
    struct machine *machine = hart->machine;
    uint32_t done = 0;
    while (done < most && hart->state == HART_RUNS && !machine->has_ended) {
        if (hart->pc == RETURN_ADDRESS) {
            hart->state = HART_RETURNED;
            break;
        }
        run_one(hart);
        done++;
        machine->time++;
    }
    return done;
}

static void tell_who_waits(const struct machine *machine)
{
    char who[32];
    for (uint32_t i = 0; i < HARTS; i++) {
        const struct hart *hart = &machine->harts[i];
        if (hart->state == HART_WAITS) {
            name_hart(hart, who, sizeof who);
            (void)fprintf(stderr, "interpreter: %s at 0x%08x waits for events 0x%08x\n", who,
                          hart->pc, hart->mask);
        }
    }
}

static void end(struct machine *machine, int status)
{
    machine->has_ended = 1;
    machine->status = status;
}

int machine_run(struct machine *machine, uint64_t most_instructions)
{
    struct hart *const first = &machine->harts[CONTROLLER];
    if (first->state == HART_OFF) {
        first->pc = machine->entry;
        first->state = HART_RUNS;
    }
    while (!machine->has_ended) {
        uint64_t done = 0;
        for (uint32_t i = 0; i < HARTS; i++) {
            if (machine->harts[i].state == HART_RUNS) {
                done += run_turn(&machine->harts[i], machine->turn);
            }
        }
        if (done == 0u && !complete_copy(machine) && !machine->has_ended) {
            tell_who_waits(machine);
            end(machine, MACHINE_ASLEEP);
        } else if (machine->time > most_instructions && !machine->has_ended) {
            (void)fprintf(stderr, "interpreter: no end after %llu instructions\n",
                          (unsigned long long)most_instructions);
            end(machine, MACHINE_ENDLESS);
        }
    }
    return machine->status;
}

int machine_call(struct machine *machine, uint32_t function, uint32_t stack_end,
                 const uint32_t *arguments, uint32_t count, uint64_t most_instructions)
{
    struct hart *hart = &machine->harts[0];
    const uint64_t most = machine->time + most_instructions;
    memset(hart->x, UNWRITTEN, sizeof hart->x);
    hart->x[0] = 0;
    hart->x[RA] = RETURN_ADDRESS;
    hart->x[SP] = stack_end;
    hart->x[GP] = machine_symbol(machine, "__global_pointer$");
    for (uint32_t i = 0; i < count && i < 8u; i++) {
        hart->x[A0 + i] = arguments[i];
    }
    hart->pc = function;
    hart->loop.end = NO_LOOP;
    hart->state = HART_RUNS;
    machine->has_ended = 0;
    while (hart->state == HART_RUNS && !machine->has_ended) {
        (void)run_turn(hart, machine->turn);
        if (machine->time > most) {
            end(machine, MACHINE_ENDLESS);
        }
    }
    return hart->state == HART_RETURNED ? 0 : machine->has_ended ? machine->status : MACHINE_ASLEEP;
}

static int has_memory(struct machine *machine)
{
    machine->l1 = malloc(machine->l1_size);
    machine->l2 = malloc(L2_SIZE);
    machine->use = calloc(L2_SIZE / 2u, 1);
    machine->decoded = calloc(L2_SIZE / 2u, sizeof *machine->decoded);
    machine->hyper.bytes = malloc(HYPER_SIZE);
    return machine->l1 != NULL && machine->l2 != NULL && machine->use != NULL &&
           machine->decoded != NULL && machine->hyper.bytes != NULL;
}

struct machine *machine_open(const char *program, uint32_t l1_size, uint32_t turn, int is_late)
{
    struct machine *machine = calloc(1, sizeof *machine);
    if (machine == NULL) {
        return NULL;
    }
    machine->l1_size = l1_size;
    machine->turn = turn > 0u ? turn : 1u;
    machine->dma.is_late = is_late;
    for (uint32_t i = 0; i < HARTS; i++) {
        struct hart *hart = &machine->harts[i];
        *hart = (struct hart){.machine = machine,
                              .number = i == CONTROLLER ? CONTROLLER_HART : i,
                              .index = i,
                              .loop = {0, NO_LOOP, 0},
                              .counter = COUNTERS};
    }
    if (!has_memory(machine)) {
        machine_close(machine);
        return NULL;
    }
    memset(machine->l1, UNWRITTEN, l1_size);
    memset(machine->l2, UNWRITTEN, L2_SIZE);
    memset(machine->hyper.bytes, UNWRITTEN_HYPER, HYPER_SIZE);
    if (!load_program(machine, program)) {
        machine_close(machine);
        return NULL;
    }
    return machine;
}

void machine_close(struct machine *machine)
{
    free(machine->l1);
    free(machine->l2);
    free(machine->use);
    free(machine->decoded);
    free(machine->hyper.bytes);
    free(machine->file);
    free(machine->symbols);
    free(machine);
}
