/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel call shared by several cores along a dimension of its tile. */
#ifndef TILEWRIGHT_SPLIT_H
#define TILEWRIGHT_SPLIT_H

#include "tilewright/port.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one core does of a call: elements [lower, upper) of the dimension, of [call_lower,
 * call_upper). `operands` are its own to change. */
struct tilewright_part {
    struct tilewright_view *operands;
    struct tilewright_shape *shapes; /* room for those of operands that are cut */
    const struct tilewright_view *cut;
    int32_t lower;
    int32_t upper;
    int32_t call_lower;
    int32_t call_upper;
    uint32_t core;
};

/* Core c gets elements [lower + c * chunk, lower + (c + 1) * chunk) of [lower, upper), and if these
 * are any, `cut` cuts its operands down to them for `call`. `operands` are all cores'. `views` is
 * room for each core's operands and shapes: cores * views_bytes, aligned as pointers. */
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

/* One core's part of the split at `argument`: for tilewright_fork. */
void tilewright_split_part(void *argument);

/* A call on `cores` cores: between start and join, copies that it does not touch may be started. */
static inline void tilewright_split_start(struct tilewright_split *split, uint32_t cores)
{
    tilewright_fork_start(cores, tilewright_split_part, split);
}

static inline void tilewright_split_join(struct tilewright_split *split, uint32_t cores)
{
    tilewright_fork_join(cores, tilewright_split_part, split);
}

/* Cut an axis of an operand with a shape down to elements [first, end) of the whole array; further
 * axes of the operand follow at once. */
void tilewright_cut(struct tilewright_part *part, uint32_t operand, uint32_t axis, int32_t first,
                    int32_t end);

#ifdef __cplusplus
}
#endif

#endif
