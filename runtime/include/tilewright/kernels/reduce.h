/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over any axes: one kernel that walks, and a reducer for each operator and element
 * type. Generated attributes point to the reducer, so that firmware contains only reducers in use.
 */
#ifndef TILEWRIGHT_KERNELS_REDUCE_H
#define TILEWRIGHT_KERNELS_REDUCE_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The state of a reducer while it goes over the elements of one result. */
struct tilewright_reduction {
    int64_t integer;
    int64_t index; /* of the next element, in row-major order of the reduced axes */
    int64_t best;  /* index of the extreme so far */
    int64_t count; /* elements of one result */
    float real;
    float largest;
    int32_t pass;
    int32_t select_last;
};

/* The kernel calls `begin` before the first pass, `line` for each row of each pass, and `end`,
 * which writes the result, after the last pass. */
struct tilewright_reducer {
    int32_t passes;
    void (*begin)(struct tilewright_reduction *state);
    void (*line)(struct tilewright_reduction *state, const uint8_t *at, int32_t stride,
                 int32_t count);
    void (*end)(const struct tilewright_reduction *state, uint8_t *y);
};

#ifdef __cplusplus
}
#endif

#endif
