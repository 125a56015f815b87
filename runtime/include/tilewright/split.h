/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel call shared by several cores along a dimension of its tile. */
#ifndef TILEWRIGHT_SPLIT_H
#define TILEWRIGHT_SPLIT_H

#include "tilewright/port.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One core's part of a call: elements [lower, upper) of the split dimension, of the call's
 * [call_lower, call_upper). `operands` is the core's own copy, which `cut` changes. */
struct tilewright_part {
    struct tilewright_view *operands;
    struct tilewright_shape *shapes;   /* room for the shapes of operands that are cut */
    const struct tilewright_view *cut; /* the operand that was cut last */
    int32_t lower;
    int32_t upper;
    int32_t call_lower;
    int32_t call_upper;
    uint32_t core;
};

/* A split call. Core c works on elements [lower + c * chunk, lower + (c + 1) * chunk) within
 * [lower, upper); if there are any, `cut` cuts the core's copy of the operands to these elements,
 * and `call` calls the kernel. `operands` are those of the whole call. `views` has views_bytes for
 * each core's operands and shapes, aligned as pointers. */
struct tilewright_split {
    void (*cut)(struct tilewright_part *part);
    void (*call)(const void *attributes, const struct tilewright_view *operands, uint32_t flags);
    const void *attributes;
    const struct tilewright_view *operands;
    uint32_t operand_count;
    uint8_t *views;
    uint32_t views_bytes;
    int32_t lower;
    int32_t upper;
    int32_t chunk;
    uint32_t flags;
};

/* Work on this core's part of the split call at `argument`, a struct tilewright_split: for
 * tilewright_fork. */
void tilewright_split_part(void *argument);

/* A split call on `cores` cores. Between start and join, the caller may start copies of bytes that
 * the call does not touch. */
static inline void tilewright_split_start(struct tilewright_split *split, uint32_t cores)
{
    tilewright_fork_start(cores, tilewright_split_part, split);
}

static inline void tilewright_split_join(struct tilewright_split *split, uint32_t cores)
{
    tilewright_fork_join(cores, tilewright_split_part, split);
}

/* Cut an axis of an operand with a shape to elements [first, end) of the whole array. If several
 * axes of one operand are cut, these calls follow each other, with no other operand between. */
void tilewright_cut(struct tilewright_part *part, uint32_t operand, uint32_t axis, int32_t first,
                    int32_t end);

#ifdef __cplusplus
}
#endif

#endif
