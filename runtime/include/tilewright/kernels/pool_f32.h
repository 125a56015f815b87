/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of the float pooling kernels; each kernel adds how taps are folded. Only for kernels.
 */
#ifndef TILEWRIGHT_KERNELS_POOL_F32_H
#define TILEWRIGHT_KERNELS_POOL_F32_H

#include "tilewright/kernels/window.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TILEWRIGHT_POOL_N, TILEWRIGHT_POOL_C, TILEWRIGHT_POOL_H, TILEWRIGHT_POOL_W };

/* One call. Pairs are (h, w), as in the attributes. */
struct tilewright_pool_f32 {
    const struct tilewright_shape *x;
    const int32_t *kernel;
    const int32_t *strides;
    const int32_t *dilations;
    const int32_t *pads;
    float minimum;
    float maximum;
};

/* The taps of one output position. */
struct tilewright_pool_window {
    const uint8_t *image;
    struct tilewright_window rows;
    struct tilewright_window columns;
};

typedef float (*tilewright_pool_step)(float sum, float x);

/* Computes all channels of one output position, of which the first is at `y`. */
typedef void (*tilewright_pool_position)(const struct tilewright_pool_f32 *pool,
                                         const struct tilewright_pool_window *window,
                                         const void *attributes,
                                         const struct tilewright_shape *y_shape, uint8_t *y);

/* Folds the taps of `count` (1 to 4) channels from `channel` on into sum[0] to sum[count - 1]. Four
 * channels are always folded: behind the last channel, its taps are folded again. Callers pass a
 * constant for `step`, so that the compiler inlines the function. */
TILEWRIGHT_INLINE void tilewright_pool_channels(const struct tilewright_pool_f32 *pool,
                                                const struct tilewright_pool_window *window,
                                                int32_t channel, int32_t count, float start,
                                                tilewright_pool_step step, float *sum)
{
    const int32_t stride = pool->x->stride[TILEWRIGHT_POOL_C];
    const uint8_t *base = window->image + (ptrdiff_t)channel * stride;
    const int32_t last = count - 1;
    const ptrdiff_t next[4] = {0, (ptrdiff_t)tilewright_smaller(last, 1) * stride,
                               (ptrdiff_t)tilewright_smaller(last, 2) * stride,
                               (ptrdiff_t)last * stride};
    const int32_t dilation = pool->dilations[1];
    const int32_t tap = dilation * pool->x->stride[TILEWRIGHT_POOL_W];
    const int32_t first = window->columns.start + window->columns.first * dilation;
    const int ring = pool->x->ring_rows != 0 && pool->x->ring_axis == TILEWRIGHT_POOL_W;
    float folded[4] = {start, start, start, start};

    for (int32_t i = window->rows.first; i < window->rows.end; i++) {
        const int32_t row = window->rows.start + i * pool->dilations[0];
        const uint8_t *line = base + tilewright_axis_offset(pool->x, TILEWRIGHT_POOL_H, row);
        const uint8_t *x = line + tilewright_axis_offset(pool->x, TILEWRIGHT_POOL_W, first);
        int32_t column = first;
        for (int32_t j = window->columns.first; j < window->columns.end; j++) {
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

/* The taps of one output position in memory: the first, steps to the next in bytes, and where a
 * ring of rows ends and how far it goes back there (0 without a ring). */
struct tilewright_pool_taps {
    const uint8_t *first;
    const uint8_t *ring_end;
    ptrdiff_t row_bytes;
    ptrdiff_t column_bytes;
    ptrdiff_t ring_bytes;
};

TILEWRIGHT_INLINE struct tilewright_pool_taps
tilewright_pool_taps_of(const struct tilewright_pool_f32 *pool,
                        const struct tilewright_pool_window *window)
{
    enum { H = TILEWRIGHT_POOL_H, W = TILEWRIGHT_POOL_W };
    const struct tilewright_shape *x = pool->x;
    const int32_t row = window->rows.start + window->rows.first * pool->dilations[0];
    const int32_t column = window->columns.start + window->columns.first * pool->dilations[1];
    const uint8_t *at = window->image + tilewright_axis_offset(x, W, column);
    const struct tilewright_pool_taps taps = {
        .first = at + tilewright_axis_offset(x, H, row),
        .ring_end = at + (ptrdiff_t)x->ring_rows * x->stride[H],
        .row_bytes = (ptrdiff_t)pool->dilations[0] * x->stride[H],
        .column_bytes = (ptrdiff_t)pool->dilations[1] * x->stride[W],
        .ring_bytes = (ptrdiff_t)x->ring_rows * x->stride[H],
    };
    return taps;
}

/* tilewright_pool_channels for four channels that lie side by side, the first `at` bytes behind
 * channel 0, where columns are no ring. */
TILEWRIGHT_INLINE void tilewright_pool_beside(const struct tilewright_pool_taps *taps,
                                              const struct tilewright_pool_window *window,
                                              ptrdiff_t at, float start, tilewright_pool_step step,
                                              float *sum)
{
    float folded[4] = {start, start, start, start};
    const uint8_t *line = taps->first;

    for (int32_t i = window->rows.first; i < window->rows.end; i++) {
        const uint8_t *x = line + at;
        for (int32_t j = window->columns.first; j < window->columns.end; j++) {
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < 4; c++) {
                folded[c] = step(folded[c], tilewright_load_f32(x + 4 * c));
            }
            x += taps->column_bytes;
        }
        line += taps->row_bytes;
        if (line >= taps->ring_end) {
            line -= taps->ring_bytes;
        }
    }
    TILEWRIGHT_UNROLL_4
    for (int32_t c = 0; c < 4; c++) {
        sum[c] = folded[c];
    }
}

/* Stores `count` channels of one output position: the sums, divided by *divisor unless `divisor` is
 * NULL. Returns where the next channel goes. */
TILEWRIGHT_INLINE uint8_t *tilewright_pool_store(const struct tilewright_pool_f32 *pool,
                                                 const float *sum, int32_t count,
                                                 const float *divisor, uint8_t *y, int32_t stride)
{
    TILEWRIGHT_UNROLL_4
    for (int32_t c = 0; c < count; c++) {
        const float value = divisor != NULL ? tilewright_float_divide(sum[c], *divisor) : sum[c];
        tilewright_store_f32(y, tilewright_clamp(value, pool->minimum, pool->maximum));
        y += stride;
    }
    return y;
}

/* Computes all channels of one output position: the taps folded by `step`, beginning with `start`,
 * then divided by *divisor unless `divisor` is NULL. Callers pass a constant for `step`. */
TILEWRIGHT_INLINE void tilewright_pool_fold(const struct tilewright_pool_f32 *pool,
                                            const struct tilewright_pool_window *window,
                                            const struct tilewright_shape *y_shape, uint8_t *y,
                                            float start, tilewright_pool_step step,
                                            const float *divisor)
{
    const struct tilewright_shape *x = pool->x;
    const int32_t channels = y_shape->extent[TILEWRIGHT_POOL_C];
    const int32_t stride = y_shape->stride[TILEWRIGHT_POOL_C];
    const int beside = TILEWRIGHT_FAST_FLOATS && x->stride[TILEWRIGHT_POOL_C] == 4 &&
                       (x->ring_rows == 0 || x->ring_axis == TILEWRIGHT_POOL_H);
    int32_t channel = 0;
    float sum[4];
    if (beside && channels >= 4) {
        const struct tilewright_pool_taps taps = tilewright_pool_taps_of(pool, window);
        for (; channel + 4 <= channels; channel += 4) {
            tilewright_pool_beside(&taps, window, 4 * (ptrdiff_t)channel, start, step, sum);
            y = tilewright_pool_store(pool, sum, 4, divisor, y, stride);
        }
    }
    for (; channel < channels; channel += 4) {
        const int32_t count = tilewright_smaller(channels - channel, 4);
        tilewright_pool_channels(pool, window, channel, count, start, step, sum);
        y = tilewright_pool_store(pool, sum, count, divisor, y, stride);
    }
}

/* Calls `position` for every output position of the tile. Callers pass a constant for `position`.
 */
TILEWRIGHT_INLINE void tilewright_pool_positions(const struct tilewright_pool_f32 *pool,
                                                 const struct tilewright_view *operands,
                                                 tilewright_pool_position position,
                                                 const void *attributes)
{
    enum { N = TILEWRIGHT_POOL_N, H = TILEWRIGHT_POOL_H, W = TILEWRIGHT_POOL_W };
    const struct tilewright_shape *y = operands[1].shape;
    struct tilewright_pool_window window;

    for (int32_t n = y->origin[N]; n < y->origin[N] + y->extent[N]; n++) {
        window.image = operands[0].base + tilewright_axis_offset(pool->x, N, n);
        for (int32_t row = y->origin[H]; row < y->origin[H] + y->extent[H]; row++) {
            uint8_t *line = operands[1].base + tilewright_axis_offset(y, N, n) +
                            tilewright_axis_offset(y, H, row);
            window.rows = tilewright_window_at(pool->x, H, row, pool->strides[0], pool->pads[0],
                                               pool->kernel[0], pool->dilations[0]);
            for (int32_t column = y->origin[W]; column < y->origin[W] + y->extent[W]; column++) {
                window.columns =
                    tilewright_window_at(pool->x, W, column, pool->strides[1], pool->pads[1],
                                         pool->kernel[1], pool->dilations[1]);
                position(pool, &window, attributes, y, line + tilewright_axis_offset(y, W, column));
            }
        }
    }
}

/* A struct tilewright_pool_f32 from the operands and attributes of a call. */
#define TILEWRIGHT_POOL_F32(operands, attributes)                                                  \
    {                                                                                              \
        (operands)[0].shape, (attributes)->kernel, (attributes)->strides, (attributes)->dilations, \
            (attributes)->pads, (attributes)->minimum, (attributes)->maximum                       \
    }

#ifdef __cplusplus
}
#endif

#endif
