/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"

enum { X, WEIGHTS, ROWS, Y };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* Words of a channel's constants: the bias in two words, multiplier, shift. */
enum { BIAS_LOW, BIAS_HIGH, MULTIPLIER, SHIFT, CONSTANTS };

struct window {
    const struct tilewright_conv_halves_attributes *attributes;
    const struct tilewright_view *x;
    int32_t n, top, left;
    int32_t inputs;
};

/* The sum of all taps that lie in x, times the weights of one channel of y, [h][w][c]. */
static int64_t sum_of(const struct window *w, const int8_t *weights, int64_t sum)
{
    const struct tilewright_shape *shape = w->x->shape;
    const int32_t *const kernel = w->attributes->kernel;
    const ptrdiff_t step = shape->stride[CHANNEL];

    for (int32_t i = 0; i < kernel[0]; i++) {
        const int32_t row = w->top + i * w->attributes->dilations[0];
        for (int32_t j = 0; j < kernel[1]; j++, weights += w->inputs) {
            const int32_t column = w->left + j * w->attributes->dilations[1];
            if (row < shape->origin[HEIGHT] ||
                row >= shape->origin[HEIGHT] + shape->extent[HEIGHT] ||
                column < shape->origin[WIDTH] ||
                column >= shape->origin[WIDTH] + shape->extent[WIDTH]) {
                continue;
            }
            const uint8_t *x = tilewright_row(w->x, HEIGHT, row) +
                               (ptrdiff_t)w->n * shape->stride[BATCH] +
                               (ptrdiff_t)(column - shape->origin[WIDTH]) * shape->stride[WIDTH];
            for (int32_t c = 0; c < w->inputs; c++) {
                sum += *(const int16_t *)(const void *)x * weights[c];
                x += step;
            }
        }
    }
    return sum;
}

/* Computes all channels of one pixel. */
static void pixel(const struct window *window, const struct tilewright_view *operands, uint8_t *y)
{
    const struct tilewright_conv_halves_attributes *a = window->attributes;
    const struct tilewright_shape *shape = operands[Y].shape;
    const int8_t *weights = (const int8_t *)operands[WEIGHTS].base;
    const int32_t *row = (const int32_t *)(const void *)operands[ROWS].base;

    for (int32_t c = shape->extent[CHANNEL]; c > 0; c--) {
        const int64_t bias =
            (int64_t)((uint64_t)(uint32_t)row[BIAS_HIGH] << 32 | (uint32_t)row[BIAS_LOW]);
        const int64_t product = sum_of(window, weights, bias) * row[MULTIPLIER];
        const int64_t value = (product + ((int64_t)1 << (row[SHIFT] - 1))) >> row[SHIFT];
        *(int16_t *)(void *)y = (int16_t)tilewright_limit(value, a->minimum, a->maximum);
        y += shape->stride[CHANNEL];
        weights += a->kernel[0] * a->kernel[1] * window->inputs;
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
                const struct window window = {attributes,
                                              &operands[X],
                                              n,
                                              oh * attributes->strides[0] - attributes->pads[0],
                                              ow * attributes->strides[1] - attributes->pads[1],
                                              operands[X].shape->extent[CHANNEL]};
                pixel(&window, operands,
                      tilewright_row(&operands[Y], HEIGHT, oh) +
                          (ptrdiff_t)n * shape->stride[BATCH] +
                          (ptrdiff_t)j * shape->stride[WIDTH]);
            }
        }
    }
}
