/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/pool_integer.h"

#include "tilewright/kernels/integer_core.h"

enum { X, Y };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* The taps of a window that lie in [lower, upper). */
struct span {
    int32_t first; /* position of the first tap */
    int32_t taps;
    int32_t dilation;
};

static struct span clip(int32_t start, int32_t taps, int32_t dilation, int32_t lower, int32_t upper)
{
    struct span span = {start, taps, dilation};
    while (span.taps > 0 && span.first < lower) {
        span.first += dilation;
        span.taps--;
    }
    while (span.taps > 0 && span.first + (span.taps - 1) * dilation >= upper) {
        span.taps--;
    }
    return span;
}

static struct span held(const struct tilewright_shape *shape, int32_t axis, int32_t start, int32_t taps,
                        int32_t dilation)
{
    return clip(start, taps, dilation, shape->origin[axis], shape->origin[axis] + shape->extent[axis]);
}

static int32_t largest(const struct tilewright_view *x, struct span rows, struct span columns,
                       ptrdiff_t offset, int32_t flip)
{
    const ptrdiff_t step = (ptrdiff_t)columns.dilation * x->shape->stride[WIDTH];
    /* Of int8 the order is that of the bytes with the sign bit changed. */
    int32_t result = 0;
    for (int32_t i = 0; i < rows.taps; i++) {
        const uint8_t *at = tilewright_row(x, HEIGHT, rows.first + i * rows.dilation) + offset;
        for (int32_t j = columns.taps; j > 0; j--) {
            const int32_t value = *at ^ flip;
            if (value > result) {
                result = value;
            }
            at += step;
        }
    }
    return result ^ flip;
}

static int32_t total(const struct tilewright_view *x, struct span rows, struct span columns,
                     ptrdiff_t offset, int32_t is_unsigned)
{
    const ptrdiff_t step = (ptrdiff_t)columns.dilation * x->shape->stride[WIDTH];
    int32_t sum = 0;
    for (int32_t i = 0; i < rows.taps; i++) {
        const uint8_t *at = tilewright_row(x, HEIGHT, rows.first + i * rows.dilation) + offset;
        if (is_unsigned != 0) {
            for (int32_t j = columns.taps; j > 0; j--) {
                sum += *at;
                at += step;
            }
        } else {
            for (int32_t j = columns.taps; j > 0; j--) {
                sum += *(const int8_t *)at;
                at += step;
            }
        }
    }
    return sum;
}

/* Round half even of product / (2^shift * count). The quotient of the floor is the floor of the
 * quotient; what is left decides: with r = 2 * remainder - count and the bits that were shifted
 * out, the fraction is above, at or below a half as r * 2^shift + 2 * bits is to 0. */
static int32_t divided(int64_t product, int32_t shift, int32_t count)
{
    const int32_t whole = (int32_t)(product >> shift);
    const uint64_t bits = (uint64_t)product & (((uint64_t)1 << shift) - 1);
    int32_t quotient = whole / count;
    int32_t remainder = whole % count;
    if (remainder < 0) {
        remainder += count;
        quotient--;
    }
    const int32_t twice = 2 * remainder - count;
    const uint64_t half = ((uint64_t)1 << shift) >> 1;
    if (twice > 0 || (twice == 0 && bits > 0) || (twice == -1 && bits > half)) {
        return quotient + 1;
    }
    const int tie = twice == 0 || (twice == -1 && shift > 0 && bits == half);
    return quotient + (tie ? quotient & 1 : 0);
}

void tilewright_max_pool_integer(const struct tilewright_max_pool_integer_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_max_pool_integer_attributes *a = attributes;
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t flip = a->is_unsigned != 0 ? 0 : 0x80;

    (void)flags;
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        for (int32_t i = 0; i < out->extent[HEIGHT]; i++) {
            const int32_t oh = out->origin[HEIGHT] + i;
            const struct span rows = held(in, HEIGHT, oh * a->strides[0] - a->pads[0], a->kernel[0],
                                          a->dilations[0]);
            uint8_t *pixel =
                tilewright_row(&operands[Y], HEIGHT, oh) + (ptrdiff_t)n * out->stride[BATCH];
            for (int32_t j = 0; j < out->extent[WIDTH]; j++) {
                const struct span columns =
                    held(in, WIDTH, (out->origin[WIDTH] + j) * a->strides[1] - a->pads[1],
                         a->kernel[1], a->dilations[1]);
                ptrdiff_t offset = (ptrdiff_t)n * in->stride[BATCH] +
                                   (ptrdiff_t)(columns.first - in->origin[WIDTH]) * in->stride[WIDTH];
                uint8_t *to = pixel;
                for (int32_t c = out->extent[CHANNEL]; c > 0; c--) {
                    *to = (uint8_t)largest(&operands[X], rows, columns, offset, flip);
                    to += out->stride[CHANNEL];
                    offset += in->stride[CHANNEL];
                }
                pixel += out->stride[WIDTH];
            }
        }
    }
}

/* All channels of one pixel of the average. */
static void average(const struct tilewright_average_pool_integer_attributes *a,
                    const struct tilewright_view *operands, int32_t n, int32_t oh, int32_t ow)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t top = oh * a->strides[0] - a->pads[0];
    const int32_t left = ow * a->strides[1] - a->pads[1];
    const struct span rows = held(in, HEIGHT, top, a->kernel[0], a->dilations[0]);
    const struct span columns = held(in, WIDTH, left, a->kernel[1], a->dilations[1]);
    const int32_t count =
        clip(top, a->kernel[0], a->dilations[0], a->counted[0], a->counted[1]).taps *
        clip(left, a->kernel[1], a->dilations[1], a->counted[2], a->counted[3]).taps;
    const int32_t zero = a->x_zero_point * rows.taps * columns.taps;
    ptrdiff_t offset = (ptrdiff_t)n * in->stride[BATCH] +
                       (ptrdiff_t)(columns.first - in->origin[WIDTH]) * in->stride[WIDTH];
    uint8_t *to = tilewright_row(&operands[Y], HEIGHT, oh) + (ptrdiff_t)n * out->stride[BATCH] +
                  (ptrdiff_t)(ow - out->origin[WIDTH]) * out->stride[WIDTH];

    for (int32_t c = out->extent[CHANNEL]; c > 0; c--) {
        const int32_t sum = total(&operands[X], rows, columns, offset, a->is_unsigned) - zero;
        const int32_t value =
            divided((int64_t)sum * a->multiplier, a->shift, count > 0 ? count : 1);
        *to = (uint8_t)tilewright_limit((int64_t)value + a->zero_point, a->minimum, a->maximum);
        to += out->stride[CHANNEL];
        offset += in->stride[CHANNEL];
    }
}

void tilewright_average_pool_integer(const struct tilewright_average_pool_integer_attributes *attributes,
                                     const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *out = operands[Y].shape;

    (void)flags;
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        for (int32_t i = 0; i < out->extent[HEIGHT]; i++) {
            for (int32_t j = 0; j < out->extent[WIDTH]; j++) {
                average(attributes, operands, n, out->origin[HEIGHT] + i, out->origin[WIDTH] + j);
            }
        }
    }
}
