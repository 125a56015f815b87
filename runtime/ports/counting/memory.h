/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that copies alone may see: which it is, and what its bytes are XORed with. */
#ifndef TILEWRIGHT_PORTS_COUNTING_MEMORY_H
#define TILEWRIGHT_PORTS_COUNTING_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <tilewright/port.h>

#ifdef __cplusplus
extern "C" {
#endif

struct counting_range {
    tilewright_address_t start;
    tilewright_address_t end;
};

static inline bool counting_overlap(struct counting_range a, struct counting_range b)
{
    return a.start < b.end && b.start < a.end;
}

static inline bool counting_contains(struct counting_range outer, struct counting_range inner)
{
    return outer.start <= inner.start && inner.end <= outer.end;
}

bool counting_memory_is_hidden(void);

/* What bytes of a range are XORed with, 0 outside of protected memory. Sets `*torn` for a range
 * that is partly inside. */
uint8_t counting_memory_mask(struct counting_range range, bool *torn);

/* Whether the core cannot reach a part of a range. */
bool counting_memory_is_beyond(struct counting_range range);

/* XOR bytes that the core can reach. */
void counting_memory_flip(tilewright_address_t address, uint32_t bytes, uint8_t mask);

#ifdef __cplusplus
}
#endif

#endif
