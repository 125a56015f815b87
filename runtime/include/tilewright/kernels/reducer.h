/* SPDX-License-Identifier: Apache-2.0 */
/* How reducers are written: the loop around a step. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_REDUCER_H
#define TILEWRIGHT_KERNELS_REDUCER_H

#include "tilewright/kernels/map_rows.h"
#include "tilewright/kernels/reduce.h"

/* `member` of the state s is `start`, then `step` of itself and each element x, and y is `result`.
 */
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

/* The extreme by `better(x, best so far)`, or its index. A NaN is better than all else. */
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
