/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the operation of an instruction, once for each place in code. */
#include "operations.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPERATIONS = 128 };

struct table {
    const struct operation *operations;
    const uint32_t *count;
    uint8_t is_seen[MOST_OPERATIONS];
};

static struct table tables[] = {
    {rv32_operations, &rv32_operation_count, {0}},
    {xpulpv2_operations, &xpulpv2_operation_count, {0}},
    {zfinx_operations, &zfinx_operation_count, {0}},
};
enum { TABLES = sizeof tables / sizeof tables[0] };

int has_bits(const char *bits, uint32_t word)
{
    uint32_t position = 32;
    for (const char *bit = bits; *bit != '\0'; bit++) {
        if (*bit == ' ') {
            continue;
        }
        position--;
        if (*bit != '-' && (word >> position & 1u) != (uint32_t)(*bit - '0')) {
            return 0;
        }
    }
    return 1;
}

static const struct operation *operation_of(uint32_t word)
{
    for (struct table *table = tables; table < tables + TABLES; table++) {
        for (uint32_t i = 0; i < *table->count && i < MOST_OPERATIONS; i++) {
            if (has_bits(table->operations[i].bits, word)) {
                table->is_seen[i] = 1;
                return &table->operations[i];
            }
        }
    }
    return NULL;
}

static int32_t immediate_of(enum format format, uint32_t word)
{
    const uint32_t sign = (uint32_t)((int32_t)word >> 31);
    const uint32_t low = word >> 7 & 31u;
    switch (format) {
    case FORMAT_I:
        return (int32_t)word >> 20;
    case FORMAT_S:
        return (int32_t)((uint32_t)((int32_t)word >> 25) << 5 | low);
    case FORMAT_B:
        return (int32_t)(sign << 12 | (low & 1u) << 11 | (word >> 25 & 63u) << 5 | (low & 30u));
    case FORMAT_U:
        return (int32_t)(word & 0xfffff000u);
    case FORMAT_J:
        return (int32_t)(sign << 20 | (word & 0x000ff000u) | (word >> 20 & 1u) << 11 |
                         (word >> 20 & 0x7feu));
    default:
        return 0;
    }
}

/* What kind of instruction an unknown word is, by its opcode. */
static const char *kind_of(uint32_t word)
{
    switch (word & 0x7fu) {
    case 0x0b:
        return "a load of Xpulpv2 that moves its base on";
    case 0x2b:
        return "a store of Xpulpv2 that moves its base on";
    case 0x33:
        return "arithmetic of Xpulpv2";
    case 0x57:
        return "vector arithmetic of Xpulpv2";
    case 0x5b:
        return "arithmetic of Xpulpv2 with a shift";
    case 0x7b:
        return "of the hardware loops of Xpulpv2";
    case 0x2f:
        return "atomic";
    case 0x07:
    case 0x27:
    case 0x43:
    case 0x47:
    case 0x4b:
    case 0x4f:
    case 0x53:
        return "of floats";
    default:
        return "unknown";
    }
}

static void decode(struct hart *hart, struct instruction *in, const uint8_t *from)
{
    uint16_t halves[2];
    memcpy(halves, from, sizeof halves);
    const int is_short = (halves[0] & 3u) != 3u;
    const uint32_t word = is_short ? expanded(halves[0]) : halves[0] | (uint32_t)halves[1] << 16;
    const struct operation *operation = operation_of(word);
    if (operation == NULL && is_short) {
        trap(hart, CAUSE_ILLEGAL, "the short instruction 0x%04x is unknown", halves[0]);
        return;
    }
    if (operation == NULL) {
        trap(hart, CAUSE_ILLEGAL, "the instruction 0x%08x is %s, and not modelled", word,
             kind_of(word));
        return;
    }
    *in = (struct instruction){operation,
                               immediate_of(operation->format, word),
                               word,
                               (uint8_t)(word >> 7 & 31u),
                               (uint8_t)(word >> 15 & 31u),
                               (uint8_t)(word >> 20 & 31u),
                               is_short ? 2 : 4,
                               0};
}

struct instruction *fetch(struct hart *hart)
{
    struct machine *machine = hart->machine;
    const uint32_t offset = hart->pc - L2_BASE;
    if (offset >= L2_SIZE - 2u || offset % 2u != 0u || machine->use[offset / 2u] != USE_CODE) {
        trap(hart, CAUSE_FETCH, "no code is here");
        return NULL;
    }
    struct instruction *in = &machine->decoded[offset / 2u];
    if (in->operation == NULL) {
        decode(hart, in, machine->l2 + offset);
    }
    return in->operation != NULL ? in : NULL;
}

void print_operations(int of_all)
{
    for (const struct table *table = tables; table < tables + TABLES; table++) {
        for (uint32_t i = 0; i < *table->count; i++) {
            if (of_all || table->is_seen[i] != 0u) {
                printf("%s\n", table->operations[i].name);
            }
        }
    }
}
