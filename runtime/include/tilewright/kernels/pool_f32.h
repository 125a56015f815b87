/* SPDX-License-Identifier: Apache-2.0 */
/* What the pooling kernels share. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_POOL_F32_H
#define TILEWRIGHT_KERNELS_POOL_F32_H

#include "tilewright/kernels/window.h"

enum { TILEWRIGHT_POOL_N, TILEWRIGHT_POOL_C, TILEWRIGHT_POOL_H, TILEWRIGHT_POOL_W };

/* One output position of one image. */
struct tilewright_pool_f32 {
    const struct tilewright_shape *x;
    const uint8_t *x_base;
    struct tilewright_window rows;
    struct tilewright_window columns;
    int32_t dilations[2];
};

typedef float (*tilewright_pool_step)(float sum, float x);

/* Folds the taps of `count` (1 to 4) channels from `channel` on, four at a time: a channel beyond
 * the last repeats it. `step` is a constant. */
TILEWRIGHT_INLINE void tilewright_pool_channels(const struct tilewright_pool_f32 *pool,
                                                int32_t channel, int32_t count, float start,
                                                tilewright_pool_step step, float *sum)
{
    const int32_t stride = pool->x->stride[TILEWRIGHT_POOL_C];
    const uint8_t *base = pool->x_base + (ptrdiff_t)channel * stride;
    const int32_t last = count - 1;
    const ptrdiff_t next[4] = {0, (ptrdiff_t)(last < 1 ? last : 1) * stride,
                               (ptrdiff_t)(last < 2 ? last : 2) * stride, (ptrdiff_t)last * stride};
    const int32_t dilation = pool->dilations[1];
    const int32_t tap = dilation * pool->x->stride[TILEWRIGHT_POOL_W];
    const int32_t first = pool->columns.start + pool->columns.first * dilation;
    const int ring = pool->x->ring_rows != 0 && pool->x->ring_axis == TILEWRIGHT_POOL_W;
    float folded[4] = {start, start, start, start};

    for (int32_t i = pool->rows.first; i < pool->rows.end; i++) {
        const int32_t row = pool->rows.start + i * pool->dilations[0];
        const uint8_t *line = base + tilewright_axis_offset(pool->x, TILEWRIGHT_POOL_H, row);
        const uint8_t *x = line + tilewright_axis_offset(pool->x, TILEWRIGHT_POOL_W, first);
        int32_t column = first;
        for (int32_t j = pool->columns.first; j < pool->columns.end; j++) {
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < 4; c++) {
                folded[c] = step(folded[c], tilewright_load_f32(x + next[c]));
            }
            column += dilation;
            x = ring ? line + tilewright_axis_offset(pool->x, TILEWRIGHT_POOL_W, column) : x + tap;
        }
    }
    TILEWRIGHT_UNROLL_4
    for (int32_t c = 0; c < 4; c++) {
        sum[c] = folded[c];
    }
}

#endif
