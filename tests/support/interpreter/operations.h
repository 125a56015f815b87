/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction is: its bits as the manuals print them, and what it does. */
#ifndef INTERPRETER_OPERATIONS_H
#define INTERPRETER_OPERATIONS_H

#include "machine.h"

/* How the immediate lies in the word. */
enum format { FORMAT_R, FORMAT_I, FORMAT_S, FORMAT_B, FORMAT_U, FORMAT_J };

typedef void action(struct hart *hart, const struct instruction *instruction);

struct operation {
    const char *name;
    const char *bits; /* from the highest to the lowest; blanks are skipped, '-' is any bit */
    enum format format;
    action *run;
};

extern const struct operation rv32_operations[];
extern const uint32_t rv32_operation_count;
extern const struct operation xpulpv2_operations[];
extern const uint32_t xpulpv2_operation_count;
extern const struct operation zfinx_operations[];
extern const uint32_t zfinx_operation_count;

/* Whether a word has the bits of an operation. */
int has_bits(const char *bits, uint32_t word);
/* What a short instruction stands for; 0 where it is none of RV32C without floats. */
uint32_t expanded(uint16_t word);

static inline void set(struct hart *hart, uint32_t rd, uint32_t value)
{
    if (rd != 0u) {
        hart->x[rd] = value;
    }
}

#endif
