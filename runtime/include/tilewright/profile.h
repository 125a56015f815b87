/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements of each layer of a profiled model, and a table of them. */
#ifndef TILEWRIGHT_PROFILE_H
#define TILEWRIGHT_PROFILE_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* To measure kernels alone, compile a profiled model's source with TILEWRIGHT_PROFILE_COPIES 0:
 * kernels then run on whatever bytes lie in their tiles. To measure copies alone, compile it with
 * TILEWRIGHT_PROFILE_KERNELS 0. Results are wrong; addresses and tiles stay the same. */
#ifndef TILEWRIGHT_PROFILE_KERNELS
#define TILEWRIGHT_PROFILE_KERNELS 1
#endif
#ifndef TILEWRIGHT_PROFILE_COPIES
#define TILEWRIGHT_PROFILE_COPIES 1
#endif

/* One layer of the last run, in units of tilewright_cycles: the whole layer, its kernel calls, and
 * its waits for copies. The remaining cycles start copies and run the loop over tiles. */
struct tilewright_profile {
    uint32_t cycles;
    uint32_t kernel_cycles;
    uint32_t wait_cycles;
    uint32_t copied_bytes;
};

/* The facts about a layer that the plan has: its name and its multiply-accumulates. */
struct tilewright_profile_layer {
    const char *name;
    uint64_t macs;
};

/* For functions in which the steps of several layers take turns: adds the cycles from `begin` to
 * `now`, and `measured`, to the record of one of these layers. Clears `measured`; returns `now`. */
static inline uint32_t tilewright_profile_add(struct tilewright_profile *record,
                                              struct tilewright_profile *measured, uint32_t begin,
                                              uint32_t now)
{
    record->cycles += now - begin;
    record->kernel_cycles += measured->kernel_cycles;
    record->wait_cycles += measured->wait_cycles;
    record->copied_bytes += measured->copied_bytes;
    measured->kernel_cycles = 0;
    measured->wait_cycles = 0;
    measured->copied_bytes = 0;
    return now;
}

/* Bytes of the rectangle `shape` of `rank` axes. */
static inline uint32_t tilewright_profile_bytes(const struct tilewright_shape *shape, uint32_t rank,
                                                uint32_t element_bytes)
{
    uint32_t bytes = element_bytes;
    for (uint32_t axis = 0; axis < rank; ++axis) {
        bytes *= (uint32_t)shape->extent[axis];
    }
    return bytes;
}

/* Write a table of `count` layers through `put`, in pieces of lines with their ends. Every line
 * begins with "profile <model>", so that logs can be searched for the table. */
void tilewright_profile_print(const char *model, const char *unit,
                              const struct tilewright_profile_layer *layers,
                              const struct tilewright_profile *measured, uint32_t count,
                              void (*put)(const char *text, void *argument), void *argument);

#ifdef __cplusplus
}
#endif

#endif
