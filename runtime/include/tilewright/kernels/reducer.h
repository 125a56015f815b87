/* SPDX-License-Identifier: Apache-2.0 */
/* Macros that define reducers: the loop around a step. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_REDUCER_H
#define TILEWRIGHT_KERNELS_REDUCER_H

#include "tilewright/kernels/map_rows.h"
#include "tilewright/kernels/reduce.h"

/* A reducer whose state is s->member: it begins as `start`, becomes `step` for each element x, and
 * y is `result`. For example, the sum has member real, start 0.0f, step s->real + x, result
 * s->real. */
#define TILEWRIGHT_REDUCER(name, X, Y, passes, member, start, step, result)                        \
    static void begin_##name(struct tilewright_reduction *s)                                       \
    {                                                                                              \
        s->member = (start);                                                                       \
    }                                                                                              \
    static void line_##name(struct tilewright_reduction *s, const uint8_t *at, int32_t stride,     \
                            int32_t count)                                                         \
    {                                                                                              \
        for (; count > 0; count--) {                                                               \
            const X x = TILEWRIGHT_ELEMENT(X, at);                                                 \
            s->member = (step);                                                                    \
            at += stride;                                                                          \
        }                                                                                          \
    }                                                                                              \
    static void end_##name(const struct tilewright_reduction *s, uint8_t *y)                       \
    {                                                                                              \
        *(Y *)(void *)y = (Y)(result);                                                             \
    }                                                                                              \
    const struct tilewright_reducer tilewright_reduce_##name = {passes, begin_##name, line_##name, \
                                                                end_##name};

/* A reducer for the extreme element or its index: x takes the place of `best` if `better` holds. In
 * the expressions given, a NaN is better than any number. */
#define TILEWRIGHT_EXTREME(name, X, Y, member, better, result)                                     \
    static void begin_##name(struct tilewright_reduction *s)                                       \
    {                                                                                              \
        s->index = 0;                                                                              \
        s->best = 0;                                                                               \
    }                                                                                              \
    static void line_##name(struct tilewright_reduction *s, const uint8_t *at, int32_t stride,     \
                            int32_t count)                                                         \
    {                                                                                              \
        for (; count > 0; count--) {                                                               \
            const X x = TILEWRIGHT_ELEMENT(X, at);                                                 \
            const X best = (X)s->member;                                                           \
            if (s->index == 0 || (better) || (s->select_last != 0 && x == best)) {                 \
                s->member = x;                                                                     \
                s->best = s->index;                                                                \
            }                                                                                      \
            s->index++;                                                                            \
            at += stride;                                                                          \
        }                                                                                          \
    }                                                                                              \
    static void end_##name(const struct tilewright_reduction *s, uint8_t *y)                       \
    {                                                                                              \
        *(Y *)(void *)y = (Y)(result);                                                             \
    }                                                                                              \
    const struct tilewright_reducer tilewright_reduce_##name = {1, begin_##name, line_##name,      \
                                                                end_##name};

#endif
