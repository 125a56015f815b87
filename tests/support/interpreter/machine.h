/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter of programs for pulp-open: RV32IMC with the instructions of Xpulpv2 that kernels
 * use, a fabric controller, nine cluster cores, and the devices that the port of pulp-open uses.
 * It models what a program computes and nothing of how long it takes. What it does not know it
 * refuses by name, and it is stricter than the chip: see docs/reference/interpreter.md. */
#ifndef INTERPRETER_MACHINE_H
#define INTERPRETER_MACHINE_H

#include <stdint.h>

enum {
    CLUSTER_CORES = 9,
    CONTROLLER = CLUSTER_CORES, /* its place among the harts */
    HARTS = CLUSTER_CORES + 1,
    BARRIERS = 8,
    COUNTERS = 16,
    QUEUE = 16
};

#define L1_BASE 0x10000000u
#define L2_BASE 0x1c000000u
#define L2_SIZE 0x00190000u
#define HYPER_SIZE 0x00800000u
#define CONTROLLER_HART 0x3e0u

/* A return to this address ends what machine_call began. */
#define RETURN_ADDRESS 0xfffffffeu

/* How a program ends that does not say so itself. */
enum machine_status {
    MACHINE_TRAPPED = 90, /* and has no handler */
    MACHINE_ASLEEP = 91,  /* every hart waits for an event that nobody can send */
    MACHINE_ENDLESS = 92, /* more instructions than were allowed */
    MACHINE_NO_PROGRAM = 93
};

enum trap_cause {
    CAUSE_FETCH = 1,
    CAUSE_ILLEGAL = 2,
    CAUSE_BREAKPOINT = 3,
    CAUSE_LOAD = 5,
    CAUSE_STORE = 7,
    CAUSE_CALL = 11
};

enum hart_state { HART_OFF, HART_RUNS, HART_WAITS, HART_RETURNED };

struct machine;
struct operation;

struct instruction {
    const struct operation *operation; /* NULL: not decoded yet */
    int32_t immediate;
    uint32_t word; /* of 32 bits; a short instruction's is what it stands for */
    uint8_t rd, rs1, rs2;
    uint8_t size_bytes;
    uint8_t is_checked; /* a hardware loop whose body keeps the rules */
};

struct hardware_loop {
    uint32_t start;
    uint32_t end; /* address of the last instruction; odd: no loop */
    uint32_t count;
};

/* Words of a DMA command that a hart has written so far. */
struct dma_command {
    uint32_t words[5];
    uint32_t count;
};

struct hart {
    struct machine *machine;
    uint32_t number; /* mhartid */
    uint32_t index;  /* among the machine's harts */
    enum hart_state state;
    uint32_t x[32];
    uint32_t pc;
    uint32_t next_pc;
    struct hardware_loop loop;
    uint32_t mtvec, mepc, mcause;
    int has_trapped; /* in the instruction under way */
    /* Event unit: events that came, and those that are waited for. */
    uint32_t events;
    uint32_t mask;
    int has_arrived; /* at the barrier that it waits for */
    uint32_t boot_address;
    /* DMA */
    struct dma_command command;
    uint32_t counter;
};

struct barrier {
    uint32_t status;
    uint32_t trigger_mask;
    uint32_t target_mask;
};

struct copy {
    uint32_t issuer; /* index of a hart */
    uint32_t counter;
    uint32_t near;
    uint32_t far;
    uint32_t bytes;
    uint32_t line_bytes;
    uint32_t far_stride;
    int is_inward; /* to L1 */
    int has_event;
};

struct dma {
    struct copy queue[QUEUE];
    uint32_t first;
    uint32_t count;
    uint32_t taken;             /* bit of each counter that is in use */
    uint32_t pending[COUNTERS]; /* copies */
    int is_late;
};

struct hyper {
    uint8_t *bytes;
    uint32_t l2[2], size[2]; /* of reads, of writes */
    uint32_t command, address;
    int has_clock;
};

/* What a program may do with two bytes of L2. */
enum use { USE_DATA, USE_CONSTANT, USE_CODE };

struct symbol {
    const char *name;
    uint32_t address;
    uint32_t size_bytes;
    int is_function;
};

struct machine {
    struct hart harts[HARTS];
    uint8_t *l1;
    uint32_t l1_size;
    uint8_t *l2;
    uint8_t *use;                /* enum use, for every two bytes of L2 */
    struct instruction *decoded; /* of every two bytes of L2 */
    struct barrier barriers[BARRIERS];
    struct dma dma;
    struct hyper hyper;
    uint8_t *file; /* the program's */
    uint64_t file_size;
    struct symbol *symbols;
    uint32_t symbol_count;
    uint32_t entry;
    uint64_t time; /* instructions, as mcycle counts them */
    uint32_t turn; /* instructions of a hart before the next one's turn */
    int has_ended;
    int status;
};

/* memory.c. Accesses by a hart: what is out of bounds traps. */
uint32_t load(struct hart *hart, uint32_t address, uint32_t size_bytes);
void store(struct hart *hart, uint32_t address, uint32_t size_bytes, uint32_t value);
/* The machine's bytes at an address, NULL where these are not all in one memory. */
uint8_t *machine_memory(struct machine *machine, uint32_t address, uint32_t size_bytes);

/* devices.c and those beside it. 0: there is no such register. A load may make its hart wait, and
 * is repeated when that is over. */
int load_register(struct hart *hart, uint32_t address, uint32_t *value);
int store_register(struct hart *hart, uint32_t address, uint32_t value);
int load_event(struct hart *hart, uint32_t offset, uint32_t *value);
int store_event(struct hart *hart, uint32_t offset, uint32_t value);
void send_events(struct machine *machine, uint32_t cores, uint32_t events);
int load_dma(struct hart *hart, uint32_t offset, uint32_t *value);
int store_dma(struct hart *hart, uint32_t offset, uint32_t value);
int complete_copy(struct machine *machine);
int load_hyper(struct hart *hart, uint32_t offset, uint32_t *value);
int store_hyper(struct hart *hart, uint32_t offset, uint32_t value);

/* decode.c: the instruction at the hart's pc; NULL after a trap. */
struct instruction *fetch(struct hart *hart);
/* Names of the operations that have been decoded, each on a line. */
void print_operations(int of_all);

/* elf.c: 0 where the file is no program for this machine. */
int load_program(struct machine *machine, const char *path);
const struct symbol *function_at(const struct machine *machine, uint32_t address);
/* Address of a symbol; 0 where there is none. */
uint32_t machine_symbol(const struct machine *machine, const char *name);

/* semihosting.c */
void semihosting(struct hart *hart);

/* run.c */
__attribute__((format(printf, 3, 4))) void trap(struct hart *hart, enum trap_cause cause,
                                                const char *format, ...);
struct machine *machine_open(const char *program, uint32_t l1_size, uint32_t turn, int is_late);
void machine_close(struct machine *machine);
/* From the program's entry until it ends; its status. */
int machine_run(struct machine *machine, uint64_t most_instructions);
/* One function on cluster core 0, from a state as after start-up; 0, or the status of a trap. */
int machine_call(struct machine *machine, uint32_t function, uint32_t stack_end,
                 const uint32_t *arguments, uint32_t count, uint64_t most_instructions);

#endif
