/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over any axes: one walker, and a reducer for each operator and element type. Generated
 * attributes name the reducer, so that firmware contains those that it uses and no others. */
#ifndef TILEWRIGHT_KERNELS_REDUCE_H
#define TILEWRIGHT_KERNELS_REDUCE_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a reducer knows while it goes over the elements of one result. */
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

/* begin before the first pass; line for each row of each pass; end writes the result. */
struct tilewright_reducer {
    int32_t passes;
    void (*begin)(struct tilewright_reduction *state);
    void (*line)(struct tilewright_reduction *state, const uint8_t *at, int32_t stride,
                 int32_t count);
    void (*end)(const struct tilewright_reduction *state, uint8_t *y);
};

struct tilewright_reduce_attributes {
    const struct tilewright_reducer *reducer;
    uint32_t axes; /* bit i: axis i of the view is reduced */
    int32_t select_last;
};

/* Operands: x with six axes, y with the same axes, of extent 1 where they are reduced. Reduced axes
 * are whole in every tile. */
void tilewright_reduce(const struct tilewright_reduce_attributes *attributes,
                       const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_REDUCER_NAMED(name)                                                             \
    extern const struct tilewright_reducer tilewright_reduce_##name;
#define TILEWRIGHT_REDUCER_SUMS(name)                                                              \
    TILEWRIGHT_REDUCER_NAMED(name##_f32)                                                           \
    TILEWRIGHT_REDUCER_NAMED(name##_i32)                                                           \
    TILEWRIGHT_REDUCER_NAMED(name##_i64)
#define TILEWRIGHT_REDUCER_EXTREMES(name)                                                          \
    TILEWRIGHT_REDUCER_SUMS(name)                                                                  \
    TILEWRIGHT_REDUCER_NAMED(name##_i8)                                                            \
    TILEWRIGHT_REDUCER_NAMED(name##_u8)                                                            \
    TILEWRIGHT_REDUCER_NAMED(name##_i16)                                                           \
    TILEWRIGHT_REDUCER_NAMED(name##_u16)                                                           \
    TILEWRIGHT_REDUCER_NAMED(name##_u32)

TILEWRIGHT_REDUCER_SUMS(sum)
TILEWRIGHT_REDUCER_SUMS(mean)
TILEWRIGHT_REDUCER_SUMS(prod)
TILEWRIGHT_REDUCER_SUMS(l1)
TILEWRIGHT_REDUCER_SUMS(sum_square)
TILEWRIGHT_REDUCER_NAMED(l2_f32)
TILEWRIGHT_REDUCER_NAMED(log_sum_f32)
TILEWRIGHT_REDUCER_NAMED(log_sum_exp_f32)
TILEWRIGHT_REDUCER_EXTREMES(max)
TILEWRIGHT_REDUCER_EXTREMES(min)
TILEWRIGHT_REDUCER_EXTREMES(arg_max)
TILEWRIGHT_REDUCER_EXTREMES(arg_min)

#ifdef __cplusplus
}
#endif

#endif
