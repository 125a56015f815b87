/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"

enum { X, Y };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* Taps of a window on one axis that lie in x: `first`, `first + dilation`, ... below `end`. */
struct span {
    int32_t first, end, dilation;
};

static struct span held(const struct tilewright_shape *x, int32_t axis, int32_t start, int32_t taps,
                        int32_t dilation)
{
    struct span span = {start, start + taps * dilation, dilation};
    while (span.first < x->origin[axis]) {
        span.first += dilation;
    }
    span.end = tilewright_smaller(span.end, x->origin[axis] + x->extent[axis]);
    return span;
}

/* The result of one window; `offset` leads from the start of a row of x to its channel. */
static int32_t pooled(const struct tilewright_pool_halves_attributes *a,
                      const struct tilewright_view *x, const struct span *rows,
                      const struct span *columns, ptrdiff_t offset)
{
    const struct tilewright_shape *in = x->shape;
    int32_t sum = 0;
    int32_t largest = INT16_MIN;
    int32_t count = 0;

    for (int32_t i = rows->first; i < rows->end; i += rows->dilation) {
        const uint8_t *row = tilewright_row(x, HEIGHT, i) + offset;
        for (int32_t j = columns->first; j < columns->end; j += columns->dilation) {
            const uint8_t *at = row + (ptrdiff_t)(j - in->origin[WIDTH]) * in->stride[WIDTH];
            const int32_t value = *(const int16_t *)(const void *)at;
            sum += value;
            largest = value > largest ? value : largest;
            count++;
        }
    }
    if (a->is_average == 0) {
        return largest;
    }
    const int32_t half = sum > 0 ? count / 2 : -(count / 2);
    return tilewright_limit(count > 0 ? (sum + half) / count : 0, a->minimum, a->maximum);
}

/* Computes all channels of one pixel. */
static void run_pixel(const struct tilewright_pool_halves_attributes *a,
                      const struct tilewright_view *operands, int32_t n, int32_t oh, int32_t ow)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const struct span rows =
        held(in, HEIGHT, oh * a->strides[0] - a->pads[0], a->kernel[0], a->dilations[0]);
    const struct span columns =
        held(in, WIDTH, ow * a->strides[1] - a->pads[1], a->kernel[1], a->dilations[1]);
    uint8_t *to = tilewright_row(&operands[Y], HEIGHT, oh) + (ptrdiff_t)n * out->stride[BATCH] +
                  (ptrdiff_t)(ow - out->origin[WIDTH]) * out->stride[WIDTH];
    ptrdiff_t offset = (ptrdiff_t)n * in->stride[BATCH];

    for (int32_t c = out->extent[CHANNEL]; c > 0; c--) {
        *(int16_t *)(void *)to = (int16_t)pooled(a, &operands[X], &rows, &columns, offset);
        to += out->stride[CHANNEL];
        offset += in->stride[CHANNEL];
    }
}

void tilewright_pool_halves(const struct tilewright_pool_halves_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *out = operands[Y].shape;

    (void)flags;
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        for (int32_t i = 0; i < out->extent[HEIGHT]; i++) {
            for (int32_t j = 0; j < out->extent[WIDTH]; j++) {
                run_pixel(attributes, operands, n, out->origin[HEIGHT] + i, out->origin[WIDTH] + j);
            }
        }
    }
}
