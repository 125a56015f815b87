/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/average_pool_f32.h"

#include "tilewright/kernels/pool_f32.h"

enum { N = TILEWRIGHT_POOL_N, C = TILEWRIGHT_POOL_C, H = TILEWRIGHT_POOL_H, W = TILEWRIGHT_POOL_W };

TILEWRIGHT_INLINE float plus(float sum, float x)
{
    return sum + x;
}

/* Taps of one axis that count; the padding in front always lies within the limit. */
static int32_t counted(const struct tilewright_average_pool_f32_attributes *attributes,
                       int32_t axis, const struct tilewright_window *window)
{
    int32_t taps = attributes->kernel[axis];
    if (attributes->include_pads == 0) {
        return window->end - window->first;
    }
    while (taps > 0 &&
           window->start + (taps - 1) * attributes->dilations[axis] >= attributes->limits[axis]) {
        taps--;
    }
    return taps;
}

static void run_position(const struct tilewright_average_pool_f32_attributes *attributes,
                         const struct tilewright_pool_f32 *pool, const struct tilewright_shape *y,
                         uint8_t *at)
{
    const int32_t taps =
        counted(attributes, 0, &pool->rows) * counted(attributes, 1, &pool->columns);
    const float divisor = taps > 0 ? (float)taps : 1.0f;
    float sum[4];
    for (int32_t channel = 0; channel < y->extent[C]; channel += 4) {
        const int32_t left = y->extent[C] - channel;
        const int32_t count = left < 4 ? left : 4;
        tilewright_pool_channels(pool, channel, count, 0.0f, plus, sum);
        for (int32_t c = 0; c < count; c++) {
            tilewright_store_f32(
                at, tilewright_clamp(sum[c] / divisor, attributes->minimum, attributes->maximum));
            at += y->stride[C];
        }
    }
}

void tilewright_average_pool_f32(const struct tilewright_average_pool_f32_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *y = operands[1].shape;
    struct tilewright_pool_f32 pool;

    (void)flags;
    pool.x = operands[0].shape;
    pool.dilations[0] = attributes->dilations[0];
    pool.dilations[1] = attributes->dilations[1];
    for (int32_t n = y->origin[N]; n < y->origin[N] + y->extent[N]; n++) {
        pool.x_base = operands[0].base + tilewright_axis_offset(pool.x, N, n);
        for (int32_t row = y->origin[H]; row < y->origin[H] + y->extent[H]; row++) {
            uint8_t *line = operands[1].base + tilewright_axis_offset(y, N, n) +
                            tilewright_axis_offset(y, H, row);
            pool.rows =
                tilewright_window_at(pool.x, H, row, attributes->strides[0], attributes->pads[0],
                                     attributes->kernel[0], attributes->dilations[0]);
            for (int32_t column = y->origin[W]; column < y->origin[W] + y->extent[W]; column++) {
                pool.columns = tilewright_window_at(pool.x, W, column, attributes->strides[1],
                                                    attributes->pads[1], attributes->kernel[1],
                                                    attributes->dilations[1]);
                run_position(attributes, &pool, y, line + tilewright_axis_offset(y, W, column));
            }
        }
    }
}
