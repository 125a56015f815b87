/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/halves_finish.h"
#include "tilewright/kernels/spread_axis.h"

enum { X, WEIGHTS, ROWS, Y };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* Words of a channel's constants: the bias in two words, multiplier, shift. */
enum { BIAS_LOW, BIAS_HIGH, MULTIPLIER, SHIFT, CONSTANTS };

/* How many products of int16 and int8 an int32 holds. */
enum { CHUNK = 256 };

struct window {
    const struct tilewright_conv_halves_attributes *attributes;
    const struct tilewright_view *x;
    ptrdiff_t first; /* bytes from a pixel of x to the group's first channel, in the right image */
    int32_t top, left;
};

/* Products of a pixel's channels with their weights; inlined, its loop would keep its numbers on
 * the stack. */
static TILEWRIGHT_NOINLINE int64_t products(const uint8_t *x, ptrdiff_t step, const int8_t *weights,
                                            int32_t count)
{
    int64_t total = 0;
    while (count > 0) {
        const int32_t chunk = count < CHUNK ? count : CHUNK;
        int32_t sum = 0;
        for (int32_t c = 0; c < chunk; c++) {
            sum += *(const int16_t *)(const void *)x * weights[c];
            x += step;
        }
        total += sum;
        weights += chunk;
        count -= chunk;
    }
    return total;
}

/* The sum of all taps that lie in x, times the weights of one channel of y, [h][w][c]. */
static int64_t sum_of(const struct window *w, const int8_t *weights, int64_t sum)
{
    const struct tilewright_conv_halves_attributes *a = w->attributes;
    const struct tilewright_shape *shape = w->x->shape;
    const int32_t inputs = a->group_inputs;

    for (int32_t i = 0; i < a->kernel[0]; i++) {
        const int32_t row =
            tilewright_spread_source(shape, HEIGHT, w->top + i * a->dilations[0], a->spread[0]);
        if (row < 0) {
            weights += a->kernel[1] * inputs;
            continue;
        }
        const uint8_t *line = tilewright_row(w->x, HEIGHT, row) + w->first;
        for (int32_t j = 0; j < a->kernel[1]; j++, weights += inputs) {
            const int32_t column =
                tilewright_spread_source(shape, WIDTH, w->left + j * a->dilations[1], a->spread[1]);
            if (column >= 0) {
                const uint8_t *x =
                    line + (ptrdiff_t)(column - shape->origin[WIDTH]) * shape->stride[WIDTH];
                sum += products(x, shape->stride[CHANNEL], weights, inputs);
            }
        }
    }
    return sum;
}

/* A sum in stored units: one rounding of 64 bits, or two of 32. */
static int64_t stored(const struct tilewright_conv_halves_attributes *a, int64_t sum,
                      const int32_t *row)
{
    const int32_t shift = row[SHIFT];
    if (a->finish == TILEWRIGHT_HALVES_ONCE) {
        return (sum * row[MULTIPLIER] + ((int64_t)1 << (shift - 1))) >> shift;
    }
    return tilewright_halves_twice((int32_t)sum, row[MULTIPLIER], shift);
}

static void finish(const struct tilewright_conv_halves_attributes *a, int64_t sum,
                   const int32_t *row, uint8_t *y)
{
    if (a->finish != TILEWRIGHT_HALVES_REAL) {
        *(int16_t *)(void *)y =
            (int16_t)tilewright_limit(stored(a, sum, row), a->minimum, a->maximum);
        return;
    }
    tilewright_store_real(y, (int32_t)sum, row[MULTIPLIER]);
}

/* Computes all channels of one pixel. */
static void pixel(struct window *window, const struct tilewright_view *operands, int32_t n,
                  uint8_t *y)
{
    const struct tilewright_conv_halves_attributes *a = window->attributes;
    const struct tilewright_shape *shape = operands[Y].shape;
    const struct tilewright_shape *x = operands[X].shape;
    const int8_t *weights = (const int8_t *)operands[WEIGHTS].base;
    const int32_t *row = (const int32_t *)(const void *)operands[ROWS].base;

    for (int32_t c = 0; c < shape->extent[CHANNEL]; c++) {
        const int32_t group = (shape->origin[CHANNEL] + c) / a->group_outputs;
        const int64_t bias =
            (int64_t)((uint64_t)(uint32_t)row[BIAS_HIGH] << 32 | (uint32_t)row[BIAS_LOW]);
        window->first = (ptrdiff_t)n * x->stride[BATCH] +
                        tilewright_axis_offset(x, CHANNEL, group * a->group_inputs);
        finish(a, sum_of(window, weights, bias), row, y);
        y += shape->stride[CHANNEL];
        weights += a->kernel[0] * a->kernel[1] * a->group_inputs;
        row += CONSTANTS;
    }
}

void tilewright_conv_halves(const struct tilewright_conv_halves_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *shape = operands[Y].shape;

    (void)flags;
    for (int32_t n = 0; n < shape->extent[BATCH]; n++) {
        for (int32_t i = 0; i < shape->extent[HEIGHT]; i++) {
            const int32_t oh = shape->origin[HEIGHT] + i;
            for (int32_t j = 0; j < shape->extent[WIDTH]; j++) {
                const int32_t ow = shape->origin[WIDTH] + j;
                struct window window = {attributes, &operands[X], 0,
                                        oh * attributes->strides[0] - attributes->pads[0],
                                        ow * attributes->strides[1] - attributes->pads[1]};
                pixel(&window, operands, n,
                      tilewright_row(&operands[Y], HEIGHT, oh) +
                          (ptrdiff_t)n * shape->stride[BATCH] +
                          (ptrdiff_t)j * shape->stride[WIDTH]);
            }
        }
    }
}
