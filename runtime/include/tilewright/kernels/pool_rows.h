/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a window of a pooling, row by row. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_POOL_ROWS_H
#define TILEWRIGHT_KERNELS_POOL_ROWS_H

#include "tilewright/kernels/integer_core.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The axis of rows of images [n, c, h, w]. */
enum { TILEWRIGHT_POOL_HEIGHT = 2 };

/* Taps of a window on one axis. */
struct tilewright_pool_span {
    int32_t first; /* position of the first tap */
    int32_t taps;
    int32_t dilation;
};

/* Visits the bytes of a window one row after the other. */
struct tilewright_pool_rows {
    const struct tilewright_view *x;
    struct tilewright_pool_span rows, columns;
    ptrdiff_t step, pitch; /* from tap to tap in a row and from row to row */
    int32_t flip; /* 128 for int8: byte ^ 128 has the order of the int8 values; 0 for uint8 */
};

TILEWRIGHT_INLINE const uint8_t *tilewright_pool_row_at(const struct tilewright_pool_rows *w,
                                                        const uint8_t *first, ptrdiff_t offset,
                                                        int32_t i)
{
    return w->x->shape->ring_rows == 0 ? first + i * w->pitch
                                       : tilewright_row(w->x, TILEWRIGHT_POOL_HEIGHT,
                                                        w->rows.first + i * w->rows.dilation) +
                                             offset;
}

#if defined(__ARM_FEATURE_MVE)
/* clang-format off */
#define TILEWRIGHT_FOLD_LINE(fold)                                                                 \
    __asm__ volatile("wlstp.16 lr, %[count], 2f\n"                                                 \
                     "1:\n"                                                                        \
                     "vldrb.u16 q0, [%[at], %q[places]]\n"                                         \
                     "veor q0, q0, %q[flips]\n"                                                    \
                     fold " %[result], q0\n"                                                       \
                     "add %[at], %[at], %[eight]\n"                                                \
                     "letp lr, 1b\n"                                                               \
                     "2:\n"                                                                        \
                     : [result] "+Te"(result), [at] "+r"(at)                                       \
                     : [count] "r"(taps), [places] "w"(places), [flips] "w"(flips),                \
                       [eight] "r"(8 * step)                                                       \
                     : "lr", "memory", "q0")
/* clang-format on */
#endif

/* The largest of `result` and all byte ^ flip of a line of the window, or their sum. */
TILEWRIGHT_INLINE int32_t tilewright_pool_fold_line(int32_t result, const uint8_t *at,
                                                    ptrdiff_t step, int32_t taps, int32_t flip,
                                                    const int is_sum)
{
#if defined(__ARM_FEATURE_MVE)
    /* Strides for which 16-bit offsets reach the last of eight bytes. */
    if (step >= 0 && step <= UINT16_MAX / 7) {
        const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);
        const uint16x8_t flips = vdupq_n_u16((uint16_t)flip);
        if (is_sum) {
            TILEWRIGHT_FOLD_LINE("vaddva.u16");
        } else {
            TILEWRIGHT_FOLD_LINE("vmaxv.u16");
        }
        return result;
    }
#endif
    for (; taps > 0; taps--) {
        const int32_t value = *at ^ flip;
        if (is_sum) {
            result += value;
        } else if (value > result) {
            result = value;
        }
        at += step;
    }
    return result;
}

/* The largest of all byte ^ flip in the window, or their sum. */
TILEWRIGHT_INLINE int32_t tilewright_pool_folded(const struct tilewright_pool_rows *w,
                                                 const uint8_t *first, ptrdiff_t offset,
                                                 const int is_sum)
{
    const ptrdiff_t step = w->step;
    const int32_t flip = w->flip;
    int32_t result = 0;
#if defined(__ARM_FEATURE_MVE)
    if (w->x->shape->ring_rows == 0 && w->pitch == w->columns.taps * step) {
        return tilewright_pool_fold_line(0, first, step, w->rows.taps * w->columns.taps, flip,
                                         is_sum);
    }
#endif
    for (int32_t i = 0; i < w->rows.taps; i++) {
        result = tilewright_pool_fold_line(result, tilewright_pool_row_at(w, first, offset, i),
                                           step, w->columns.taps, flip, is_sum);
    }
    return result;
}

#ifdef __cplusplus
}
#endif

#endif
