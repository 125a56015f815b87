/* SPDX-License-Identifier: Apache-2.0 */
/* What a profiled model measures of each of its layers, and a table of it. */
#ifndef TILEWRIGHT_PROFILE_H
#define TILEWRIGHT_PROFILE_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* To measure a part for itself, compile a profiled model's source with one of these as 0: then
 * kernels run on whatever lies in their tiles, or nothing but copies is made. Results are wrong,
 * the plan is the same. */
#ifndef TILEWRIGHT_PROFILE_KERNELS
#define TILEWRIGHT_PROFILE_KERNELS 1
#endif
#ifndef TILEWRIGHT_PROFILE_COPIES
#define TILEWRIGHT_PROFILE_COPIES 1
#endif

/* One layer of the last run, in units of tilewright_cycles: all of it, in kernel calls, and in
 * waiting for copies. What is left is spent on starting copies and on the loop over tiles. */
struct tilewright_profile {
    uint32_t cycles;
    uint32_t kernel_cycles;
    uint32_t wait_cycles;
    uint32_t copied_bytes;
};

/* What is known of a layer before it runs. */
struct tilewright_profile_layer {
    const char *name;
    uint64_t macs;
};

/* Where steps of several layers take turns in one function: adds what was `measured` from `begin`
 * to `now` to the record of one of them, and empties `measured`. Returns `now`. */
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

/* Bytes of a rectangle of `rank` axes. */
static inline uint32_t tilewright_profile_bytes(const struct tilewright_shape *shape, uint32_t rank,
                                                uint32_t element_bytes)
{
    uint32_t bytes = element_bytes;
    for (uint32_t axis = 0; axis < rank; ++axis) {
        bytes *= (uint32_t)shape->extent[axis];
    }
    return bytes;
}

/* Hand a table of `count` layers to `put`, line by line, each with its end. Every line begins
 * with "profile <model>", by which it is found in a log. */
void tilewright_profile_print(const char *model, const char *unit,
                              const struct tilewright_profile_layer *layers,
                              const struct tilewright_profile *measured, uint32_t count,
                              void (*put)(const char *text, void *argument), void *argument);

#ifdef __cplusplus
}
#endif

#endif
