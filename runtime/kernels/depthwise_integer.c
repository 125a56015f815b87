/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/depthwise_integer.h"

#include "tilewright/kernels/integer_core.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* The padded window of one channel: what the tile of y sees, row by row. */
struct window {
    int32_t rows, columns;     /* extents of the window */
    int32_t row, column;       /* position in it of the first element that x has */
    int32_t height, width;     /* elements that x has */
    uint8_t *bytes;
};

/* The window's extent on an axis, and which part of it the tile of x holds. */
static int32_t extent_of(const struct tilewright_depthwise_integer_attributes *a,
                         const struct tilewright_shape *in, const struct tilewright_shape *out,
                         int32_t axis, int32_t *first, int32_t *held)
{
    const int32_t i = axis - HEIGHT;
    const int32_t extent =
        (out->extent[axis] - 1) * a->strides[i] + (a->kernel[i] - 1) * a->dilations[i] + 1;
    const int32_t begin = out->origin[axis] * a->strides[i] - a->pads[i];
    const int32_t lower = in->origin[axis] > begin ? in->origin[axis] - begin : 0;
    const int32_t upper = in->origin[axis] + in->extent[axis] - begin;
    *first = lower;
    *held = (upper < extent ? upper : extent) - lower;
    return extent;
}

/* Rows of the window from rows of x that are `pitch` apart. */
static void copy(const struct window *window, uint8_t *to, const uint8_t *from, int32_t pitch,
                 int32_t stride, int32_t rows)
{
    const int32_t width = window->width;
    const int32_t gap = window->columns - width;
    for (; rows > 0; rows--) {
        const uint8_t *restrict x = from;
        uint8_t *restrict y = to;
        int32_t count = width;
        for (; count >= 4; count -= 4) {
            y[0] = *x;
            x += stride;
            y[1] = *x;
            x += stride;
            y[2] = *x;
            x += stride;
            y[3] = *x;
            x += stride;
            y += 4;
        }
        for (; count > 0; count--) {
            *y++ = *x;
            x += stride;
        }
        to = y + gap;
        from += pitch;
    }
}

/* Padding never changes, so only what x holds is copied for each channel. */
static void load(const struct window *window, const struct tilewright_depthwise_integer_attributes *a,
                 const struct tilewright_view *x, const struct tilewright_shape *out, ptrdiff_t offset)
{
    const int32_t top = out->origin[HEIGHT] * a->strides[0] - a->pads[0] + window->row;
    const int32_t left = out->origin[WIDTH] * a->strides[1] - a->pads[1] + window->column;
    const int32_t stride = x->shape->stride[WIDTH];
    const ptrdiff_t skip = offset + (ptrdiff_t)(left - x->shape->origin[WIDTH]) * stride;
    uint8_t *to = window->bytes + window->row * window->columns + window->column;

    if (window->width <= 0) {
        return;
    }
    if (x->shape->ring_rows == 0) {
        copy(window, to, tilewright_row(x, HEIGHT, top) + skip, x->shape->stride[HEIGHT], stride,
             window->height);
        return;
    }
    for (int32_t row = 0; row < window->height; row++) {
        copy(window, to + row * window->columns, tilewright_row(x, HEIGHT, top + row) + skip, 0, stride,
             1);
    }
}

/* Sums of a column of y, 3x3 taps side by side; neighbours in the column share two rows of three. */
static TILEWRIGHT_NOINLINE void slide(const uint8_t *bytes, int32_t columns, const int8_t *restrict w,
                                      int32_t bias, int32_t *restrict sums, int32_t count)
{
    const int8_t *restrict x = (const int8_t *)bytes;
    const int32_t *const end = sums + count;
    const int32_t w0 = w[0], w1 = w[1], w2 = w[2];
    const int32_t w3 = w[3], w4 = w[4], w5 = w[5];
    const int32_t w6 = w[6], w7 = w[7], w8 = w[8];
    int32_t a0 = x[0], a1 = x[1], a2 = x[2];
    x += columns;
    int32_t b0 = x[0], b1 = x[1], b2 = x[2];
    int32_t c0, c1, c2;

/* The rows change places instead of being moved. */
#define TILEWRIGHT_STEP(a, b, c)                                                                      \
    x += columns;                                                                                     \
    c##0 = x[0];                                                                                      \
    c##1 = x[1];                                                                                      \
    c##2 = x[2];                                                                                      \
    *sums++ = bias + a##0 * w0 + a##1 * w1 + a##2 * w2 + b##0 * w3 + b##1 * w4 + b##2 * w5 +          \
              c##0 * w6 + c##1 * w7 + c##2 * w8;                                                      \
    if (sums == end) {                                                                                \
        return;                                                                                       \
    }

    for (;;) {
        TILEWRIGHT_STEP(a, b, c)
        TILEWRIGHT_STEP(b, c, a)
        TILEWRIGHT_STEP(c, a, b)
    }
#undef TILEWRIGHT_STEP
}

/* The same for rows that are more than one apart. */
static TILEWRIGHT_NOINLINE void stride(const uint8_t *bytes, int32_t columns, int32_t step,
                                       const int8_t *restrict w, int32_t bias,
                                       int32_t *restrict sums, int32_t count)
{
    const int8_t *restrict x = (const int8_t *)bytes;
    const int32_t *const end = sums + count;
    const int32_t w0 = w[0], w1 = w[1], w2 = w[2];
    const int32_t w3 = w[3], w4 = w[4], w5 = w[5];
    const int32_t w6 = w[6], w7 = w[7], w8 = w[8];
    do {
        const int8_t *y = x + columns;
        const int8_t *z = y + columns;
        *sums++ = bias + x[0] * w0 + x[1] * w1 + x[2] * w2 + y[0] * w3 + y[1] * w4 + y[2] * w5 +
                  z[0] * w6 + z[1] * w7 + z[2] * w8;
        x += step;
    } while (sums != end);
}

/* Any kernel. */
static void any(const struct tilewright_depthwise_integer_attributes *a, const uint8_t *bytes,
                int32_t columns, const int8_t *restrict weights, int32_t bias,
                int32_t *restrict sums, int32_t count)
{
    for (; count > 0; count--) {
        const int8_t *restrict w = weights;
        const int8_t *row = (const int8_t *)bytes;
        int32_t sum = bias;
        for (int32_t kh = a->kernel[0]; kh > 0; kh--) {
            const int8_t *x = row;
            for (int32_t kw = a->kernel[1]; kw > 0; kw--) {
                sum += *x * *w++;
                x += a->dilations[1];
            }
            row += a->dilations[0] * columns;
        }
        *sums++ = sum;
        bytes += a->strides[0] * columns;
    }
}

static void column(const struct tilewright_depthwise_integer_attributes *a, const uint8_t *bytes,
                   int32_t columns, const int8_t *weights, int32_t bias, int32_t *sums, int32_t count)
{
    if (a->kernel[0] != 3 || a->kernel[1] != 3 || a->dilations[0] != 1 || a->dilations[1] != 1) {
        any(a, bytes, columns, weights, bias, sums, count);
    } else if (a->strides[0] == 1) {
        slide(bytes, columns, weights, bias, sums, count);
    } else {
        stride(bytes, columns, a->strides[0] * columns, weights, bias, sums, count);
    }
}

/* Stores a column of y in as many lines as the ring of its rows makes of it. */
static void store(const struct tilewright_limits *limits, const struct tilewright_view *y,
                  ptrdiff_t offset, const int32_t *sums, const int32_t *row,
                  tilewright_line_finish *finish)
{
    const struct tilewright_shape *out = y->shape;
    const int32_t rings = out->ring_rows != 0 && out->ring_axis == HEIGHT ? out->ring_rows : 0;
    int32_t at = out->origin[HEIGHT];
    int32_t left = out->extent[HEIGHT];

    while (left > 0) {
        const int32_t straight = rings != 0 ? rings - at % rings : left;
        const int32_t count = straight < left ? straight : left;
        finish(limits, sums, row, tilewright_row(y, HEIGHT, at) + offset, out->stride[HEIGHT], count);
        sums += count;
        at += count;
        left -= count;
    }
}

static TILEWRIGHT_NOINLINE void run(const struct tilewright_depthwise_integer_attributes *a,
                                    const struct tilewright_view *operands,
                                    tilewright_line_finish *finish)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const struct tilewright_limits limits = {a->minimum, a->maximum, a->lowest, a->highest};
    const int32_t taps = a->kernel[0] * a->kernel[1];
    struct window window;

    window.bytes = operands[SCRATCH].base;
    window.rows = extent_of(a, in, out, HEIGHT, &window.row, &window.height);
    window.columns = extent_of(a, in, out, WIDTH, &window.column, &window.width);
    const int32_t size = window.rows * window.columns;
    int32_t *sums = (int32_t *)(void *)(window.bytes + (size + 3) / 4 * 4);

    for (int32_t i = 0; i < out->extent[BATCH] * out->extent[CHANNEL]; i++) {
        const int32_t n = i / out->extent[CHANNEL];
        const int32_t c = i % out->extent[CHANNEL];
        const int32_t *row =
            (const int32_t *)(const void *)operands[ROWS].base + c * TILEWRIGHT_ROW_WORDS;
        const int8_t *weights = (const int8_t *)operands[WEIGHTS].base + c * taps;
        ptrdiff_t offset =
            (ptrdiff_t)n * out->stride[BATCH] + (ptrdiff_t)c * out->stride[CHANNEL];

        if (i == 0 || a->flip != 0) {
            for (int32_t j = 0; j < size; j++) {
                window.bytes[j] = (uint8_t)a->padding;
            }
        }
        load(&window, a, &operands[X], out,
             (ptrdiff_t)n * in->stride[BATCH] + (ptrdiff_t)c * in->stride[CHANNEL]);
        if (a->flip != 0) {
            tilewright_flip(window.bytes, size);
        }
        for (int32_t ow = 0; ow < out->extent[WIDTH]; ow++) {
            column(a, window.bytes + ow * a->strides[1], window.columns, weights, row[0], sums,
                   out->extent[HEIGHT]);
            if (out->ring_rows == 0) {
                finish(&limits, sums, row, operands[Y].base + offset, out->stride[HEIGHT],
                       out->extent[HEIGHT]);
            } else {
                store(&limits, &operands[Y], offset, sums, row, finish);
            }
            offset += out->stride[WIDTH];
        }
    }
}

#define TILEWRIGHT_DEFINE_DEPTHWISE(rule)                                                             \
    void tilewright_depthwise_integer_##rule(                                                         \
        const struct tilewright_depthwise_integer_attributes *attributes,                             \
        const struct tilewright_view *operands, uint32_t flags)                                       \
    {                                                                                                 \
        (void)flags;                                                                                  \
        run(attributes, operands, tilewright_line_##rule);                                            \
    }

TILEWRIGHT_DEFINE_DEPTHWISE(none)
TILEWRIGHT_DEFINE_DEPTHWISE(shift)
TILEWRIGHT_DEFINE_DEPTHWISE(high)
TILEWRIGHT_DEFINE_DEPTHWISE(long)
TILEWRIGHT_DEFINE_DEPTHWISE(even)
TILEWRIGHT_DEFINE_DEPTHWISE(exact)
TILEWRIGHT_DEFINE_DEPTHWISE(rescale)
