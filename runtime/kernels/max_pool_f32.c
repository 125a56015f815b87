/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/max_pool_f32.h"

#include "tilewright/kernels/pool_f32.h"

enum { N = TILEWRIGHT_POOL_N, C = TILEWRIGHT_POOL_C, H = TILEWRIGHT_POOL_H, W = TILEWRIGHT_POOL_W };

TILEWRIGHT_INLINE float larger(float best, float x)
{
    /* The outer condition also holds when either is NaN; the inner one lets the first NaN stay. */
    if (!(x <= best) && best == best) {
        return x;
    }
    return best;
}

static float negative_infinity(void)
{
    const union {
        uint32_t bits;
        float value;
    } infinity = {0xff800000u};
    return infinity.value;
}

static void run_position(const struct tilewright_max_pool_f32_attributes *attributes,
                         const struct tilewright_pool_f32 *pool, const struct tilewright_shape *y,
                         uint8_t *at)
{
    float sum[4];
    for (int32_t channel = 0; channel < y->extent[C]; channel += 4) {
        const int32_t left = y->extent[C] - channel;
        const int32_t count = left < 4 ? left : 4;
        tilewright_pool_channels(pool, channel, count, negative_infinity(), larger, sum);
        for (int32_t c = 0; c < count; c++) {
            tilewright_store_f32(
                at, tilewright_clamp(sum[c], attributes->minimum, attributes->maximum));
            at += y->stride[C];
        }
    }
}

void tilewright_max_pool_f32(const struct tilewright_max_pool_f32_attributes *attributes,
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
