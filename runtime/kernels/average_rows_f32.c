/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/pool_f32.h"

enum { X, Y, PARTIAL };

/* Adds all rows of one image that the call has to the sums of its channels, in the order in which
 * tilewright_average_pool_f32 adds them. */
static void add_rows(const struct tilewright_view *operands, const uint8_t *image, int32_t channels,
                     float *sums)
{
    const struct tilewright_shape *x = operands[X].shape;
    const int32_t first = x->origin[TILEWRIGHT_POOL_H];
    for (int32_t row = first; row < first + x->extent[TILEWRIGHT_POOL_H]; row++) {
        const uint8_t *pixel = image + tilewright_axis_offset(x, TILEWRIGHT_POOL_H, row);
        for (int32_t column = 0; column < x->extent[TILEWRIGHT_POOL_W]; column++) {
            const uint8_t *at = pixel;
            for (int32_t c = 0; c < channels; c++) {
                sums[c] = tilewright_float_add(sums[c], tilewright_load_f32(at));
                at += x->stride[TILEWRIGHT_POOL_C];
            }
            pixel += x->stride[TILEWRIGHT_POOL_W];
        }
    }
}

void tilewright_average_rows_f32(const struct tilewright_average_rows_f32_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *y = operands[Y].shape;
    const int32_t channels = y->extent[TILEWRIGHT_POOL_C];
    float *sums = (float *)(void *)operands[PARTIAL].base;

    for (int32_t n = 0; n < y->extent[TILEWRIGHT_POOL_N]; n++) {
        const int32_t stride = operands[X].shape->stride[TILEWRIGHT_POOL_N];
        uint8_t *to = operands[Y].base + (ptrdiff_t)n * y->stride[TILEWRIGHT_POOL_N];
        for (int32_t c = 0; c < channels && (flags & TILEWRIGHT_FIRST) != 0; c++) {
            sums[c] = 0.0f;
        }
        add_rows(operands, operands[X].base + (ptrdiff_t)n * stride, channels, sums);
        for (int32_t c = 0; c < channels && (flags & TILEWRIGHT_LAST) != 0; c++) {
            const float mean = sums[c] / (float)attributes->taps;
            tilewright_store_f32(to,
                                 tilewright_clamp(mean, attributes->minimum, attributes->maximum));
            to += y->stride[TILEWRIGHT_POOL_C];
        }
        sums += channels;
    }
}
