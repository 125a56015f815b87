/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/nd_windows.h"

enum { N = TILEWRIGHT_ND_N, C = TILEWRIGHT_ND_C, D = TILEWRIGHT_ND_SPATIAL };

struct product {
    const struct tilewright_shape *x;
    const struct tilewright_shape *w;
    const struct tilewright_window *windows;
    const int32_t *dilations;
    int32_t inputs;
};

/* Bytes from the first input channel and first tap to a row of taps, in x and in w. */
static void row_offsets(const struct product *product, int32_t kd, int32_t kh, ptrdiff_t *x,
                        ptrdiff_t *w)
{
    const struct tilewright_window *windows = product->windows;
    const int32_t at[3] = {windows[0].start + kd * product->dilations[0],
                           windows[1].start + kh * product->dilations[1],
                           windows[2].start + windows[2].first * product->dilations[2]};
    *x = tilewright_nd_offset(product->x, at);
    *w = (ptrdiff_t)kd * product->w->stride[D] + (ptrdiff_t)kh * product->w->stride[D + 1] +
         (ptrdiff_t)windows[2].first * product->w->stride[D + 2];
}

union sum {
    float real;
    uint32_t integer;
};

/* Adds the products of `count` taps, which are `x_step` bytes apart in x and `w_step` in w. */
typedef void add_taps(union sum *sum, const uint8_t *x, ptrdiff_t x_step, const uint8_t *w,
                      ptrdiff_t w_step, int32_t count);

TILEWRIGHT_INLINE void add_f32(union sum *sum, const uint8_t *x, ptrdiff_t x_step, const uint8_t *w,
                               ptrdiff_t w_step, int32_t count)
{
    for (; count > 0; count--) {
        sum->real += tilewright_load_f32(x) * tilewright_load_f32(w);
        x += x_step;
        w += w_step;
    }
}

TILEWRIGHT_INLINE void add_i32(union sum *sum, const uint8_t *x, ptrdiff_t x_step, const uint8_t *w,
                               ptrdiff_t w_step, int32_t count)
{
    for (; count > 0; count--) {
        sum->integer += (uint32_t) * (const int32_t *)(const void *)x * (uint32_t) *
                        (const int32_t *)(const void *)w;
        x += x_step;
        w += w_step;
    }
}

/* Adds the products of all taps of all input channels. Callers pass a constant for `add`. */
TILEWRIGHT_INLINE void add_products(union sum *sum, const struct product *product, const uint8_t *x,
                                    const uint8_t *w, add_taps *add)
{
    const struct tilewright_window *windows = product->windows;
    const ptrdiff_t x_step = (ptrdiff_t)product->dilations[2] * product->x->stride[D + 2];
    const ptrdiff_t w_step = product->w->stride[D + 2];
    for (int32_t kd = windows[0].first; kd < windows[0].end; kd++) {
        for (int32_t kh = windows[1].first; kh < windows[1].end; kh++) {
            ptrdiff_t x_row;
            ptrdiff_t w_row;
            row_offsets(product, kd, kh, &x_row, &w_row);
            for (int32_t c = 0; c < product->inputs; c++) {
                add(sum, x + x_row + (ptrdiff_t)c * product->x->stride[C], x_step,
                    w + w_row + (ptrdiff_t)c * product->w->stride[C], w_step,
                    windows[2].end - windows[2].first);
            }
        }
    }
}

static float sum_f32(const struct product *product, const uint8_t *x, const uint8_t *w, float start)
{
    union sum sum = {.real = start};
    add_products(&sum, product, x, w, add_f32);
    return sum.real;
}

static int32_t sum_i32(const struct product *product, const uint8_t *x, const uint8_t *w,
                       int32_t start)
{
    union sum sum = {.integer = (uint32_t)start};
    add_products(&sum, product, x, w, add_i32);
    return (int32_t)sum.integer;
}

static void run_channels(const struct tilewright_conv_any_attributes *attributes,
                         const struct tilewright_view *operands, struct product *product,
                         const uint8_t *x, uint8_t *y)
{
    const struct tilewright_view *output = &operands[attributes->biased != 0 ? 3 : 2];
    for (int32_t i = 0; i < output->shape->extent[C]; i++) {
        const int32_t channel = output->shape->origin[C] + i;
        const int32_t first = channel / attributes->group_outputs * attributes->group_inputs;
        const uint8_t *from = x + tilewright_axis_offset(product->x, C, first);
        const uint8_t *w = operands[1].base + tilewright_axis_offset(product->w, N, channel);
        const uint8_t *bias =
            attributes->biased != 0
                ? operands[2].base + tilewright_axis_offset(operands[2].shape, C, channel)
                : NULL;
        uint8_t *to = y + tilewright_axis_offset(output->shape, C, channel);
        if (attributes->integer != 0) {
            *(int32_t *)(void *)to =
                sum_i32(product, from, w, bias != NULL ? *(const int32_t *)(const void *)bias : 0);
        } else {
            const float sum =
                sum_f32(product, from, w, bias != NULL ? tilewright_load_f32(bias) : 0.0f);
            tilewright_store_f32(to,
                                 tilewright_clamp(sum, attributes->minimum, attributes->maximum));
        }
    }
}

void tilewright_conv_any(const struct tilewright_conv_any_attributes *attributes,
                         const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_view *output = &operands[attributes->biased != 0 ? 3 : 2];
    const struct tilewright_shape *y = output->shape;
    const struct tilewright_geometry geometry = {attributes->kernel, attributes->strides,
                                                 attributes->dilations, attributes->pads};
    struct tilewright_window windows[3];
    struct product product = {operands[0].shape, operands[1].shape, windows, attributes->dilations,
                              attributes->group_inputs};
    int32_t at[3];

    (void)flags;
    for (int32_t n = y->origin[N]; n < y->origin[N] + y->extent[N]; n++) {
        const uint8_t *x = operands[0].base + tilewright_axis_offset(operands[0].shape, N, n);
        uint8_t *base = output->base + tilewright_axis_offset(y, N, n);
        tilewright_nd_first(y, at);
        do {
            tilewright_nd_windows(&geometry, operands[0].shape, at, windows);
            run_channels(attributes, operands, &product, x, base + tilewright_nd_offset(y, at));
        } while (tilewright_nd_next(y, at));
    }
}
