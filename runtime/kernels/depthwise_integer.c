/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/depthwise_window.h"
#include "tilewright/kernels/integer_core.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* The padded window of one channel, row by row. */
struct window {
    struct tilewright_depthwise_axis rows, columns;
    uint8_t *bytes;
    int32_t is_unsigned;
};

/* Copies `rows` rows of x, which are `pitch` bytes apart, into the window. */
static TILEWRIGHT_NOINLINE void copy(const struct window *window, uint8_t *to, const uint8_t *from,
                                     int32_t pitch, int32_t stride, int32_t rows)
{
    const int32_t width = window->columns.held;
    const int32_t gap = window->columns.extent - width;
    for (; rows > 0; rows--) {
        const uint8_t *restrict x = from;
        uint8_t *restrict y = to;
        for (int32_t count = width >> 2; count > 0; count--) {
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
        if ((width & 2) != 0) {
            y[0] = *x;
            x += stride;
            y[1] = *x;
            x += stride;
            y += 2;
        }
        if ((width & 1) != 0) {
            *y++ = *x;
        }
        to = y + gap;
        from += pitch;
    }
}

/* The same element by element, uint8 less 128. */
static void copy_each(const struct window *window, uint8_t *to, const uint8_t *from, int32_t pitch,
                      int32_t stride, int32_t rows)
{
    const int32_t width = window->columns.held;
    const int32_t gap = window->columns.extent - width;
    const uint8_t flip = window->is_unsigned != 0 ? 128 : 0;
    for (; rows > 0; rows--) {
        const uint8_t *restrict x = from;
        for (int32_t count = width; count > 0; count--) {
            *to++ = *x ^ flip;
            x += stride;
        }
        to += gap;
        from += pitch;
    }
}

#if defined(__arm__)
/* Kernels of 3x3 taps side by side, row stride 1: a column of y with at least four rows. Twelve
 * registers hold four sums, three weights and an element; nine weights and nine elements, as below,
 * do not fit. The last four rows may be computed twice. */
static TILEWRIGHT_NOINLINE void column_of_fours(const struct tilewright_depthwise_plane *plane,
                                                int32_t column)
{
    const int32_t pitch = plane->pitch;
    const int8_t *restrict w = plane->weights;
    const int8_t *restrict x = plane->bytes + column * plane->step;
    int32_t *restrict sums = plane->sums + column;
    int32_t left = plane->rows;

    for (;;) {
        int32_t a = plane->bias, b = a, c = a, d = a;
        const int8_t *const end = w + 3;
        do {
            const int32_t w0 = w[0], w1 = w[3], w2 = w[6];
            const int8_t *restrict const lower = x + 3 * pitch;
            int32_t element = x[0];
            a += element * w0;
            element = x[pitch];
            a += element * w1;
            b += element * w0;
            element = x[2 * pitch];
            a += element * w2;
            b += element * w1;
            c += element * w0;
            element = lower[0];
            b += element * w2;
            c += element * w1;
            d += element * w0;
            element = lower[pitch];
            c += element * w2;
            d += element * w1;
            element = lower[2 * pitch];
            d += element * w2;
            x++;
            w++;
        } while (w != end);
        const int32_t step = plane->columns;
        sums[0] = a;
        sums[step] = b;
        sums[2 * step] = c;
        sums[3 * step] = d;
        left -= 4;
        if (left == 0) {
            return;
        }
        const int32_t down = tilewright_smaller(left, 4);
        left += 4 - down;
        x += down * pitch - 3;
        w -= 3;
        sums += down * step;
    }
}
#endif

/* Kernels of 3x3 taps side by side, row stride 1: neighbours in a column of y share two of three
 * rows, so each row of the window is loaded once. */
void tilewright_depthwise_slide(const struct tilewright_depthwise_integer_attributes *a,
                                const struct tilewright_depthwise_plane *plane)
{
    (void)a;
#if defined(__arm__)
    if (plane->rows >= 4) {
        for (int32_t column = 0; column < plane->columns; column++) {
            column_of_fours(plane, column);
        }
        return;
    }
#endif
    const int8_t *const w = plane->weights;
    const int32_t w0 = w[0], w1 = w[1], w2 = w[2];
    const int32_t w3 = w[3], w4 = w[4], w5 = w[5];
    const int32_t w6 = w[6], w7 = w[7], w8 = w[8];
    const int32_t bias = plane->bias;
    const int32_t pitch = plane->pitch;
    const int32_t columns = plane->columns;
    const int8_t *restrict top = plane->bytes;
    int32_t *restrict first = plane->sums;
    int32_t *end = first + plane->rows * columns;
    int32_t *const last = first + columns;

/* The variables of the three rows change their roles, so that no row is moved between registers. */
#define TILEWRIGHT_STEP(a, b, c)                                                                   \
    x += pitch;                                                                                    \
    c##0 = x[0];                                                                                   \
    c##1 = x[1];                                                                                   \
    c##2 = x[2];                                                                                   \
    *sums = bias + a##0 * w0 + a##1 * w1 + a##2 * w2 + b##0 * w3 + b##1 * w4 + b##2 * w5 +         \
            c##0 * w6 + c##1 * w7 + c##2 * w8;                                                     \
    sums += columns;                                                                               \
    if (sums == end) {                                                                             \
        break;                                                                                     \
    }

    do {
        const int8_t *restrict x = top;
        int32_t *restrict sums = first;
        int32_t a0 = x[0], a1 = x[1], a2 = x[2];
        x += pitch;
        int32_t b0 = x[0], b1 = x[1], b2 = x[2];
        int32_t c0, c1, c2;
        for (;;) {
            TILEWRIGHT_STEP(a, b, c)
            TILEWRIGHT_STEP(b, c, a)
            TILEWRIGHT_STEP(c, a, b)
        }
        top += plane->step;
        first++;
        end++;
    } while (first != last);
#undef TILEWRIGHT_STEP
}

/* As tilewright_depthwise_slide, for row strides above 1. */
TILEWRIGHT_INLINE void stride(const struct tilewright_depthwise_integer_attributes *a,
                              const struct tilewright_depthwise_plane *plane, const int32_t bytes)
{
    int32_t w[9];
    TILEWRIGHT_UNROLL_16
    for (int32_t tap = 0; tap < 9; tap++) {
        w[tap] = tilewright_weight_at(plane->weights, tap, bytes);
    }
    const int32_t w0 = w[0], w1 = w[1], w2 = w[2];
    const int32_t w3 = w[3], w4 = w[4], w5 = w[5];
    const int32_t w6 = w[6], w7 = w[7], w8 = w[8];
    const int32_t bias = plane->bias;
    const int32_t pitch = plane->pitch;
    const int32_t columns = plane->columns;
    const int32_t down = a->strides[0] * pitch;
    const int8_t *restrict top = plane->bytes;
    int32_t *restrict first = plane->sums;
    int32_t *end = first + plane->rows * columns;
    int32_t *const last = first + columns;

    do {
        const int8_t *restrict x = top;
        int32_t *restrict sums = first;
        do {
            const int8_t *restrict y = x + pitch;
            const int8_t *restrict z = y + pitch;
            *sums = bias + x[0] * w0 + x[1] * w1 + x[2] * w2 + y[0] * w3 + y[1] * w4 + y[2] * w5 +
                    z[0] * w6 + z[1] * w7 + z[2] * w8;
            x += down;
            sums += columns;
        } while (sums != end);
        top += plane->step;
        first++;
        end++;
    } while (first != last);
}

/* Copies one channel's elements of x into the window. The padding around them is the same for all
 * channels, and is not written again. */
static void load(const struct window *window, const struct tilewright_view *x, ptrdiff_t offset)
{
    const int32_t top = window->rows.begin + window->rows.first;
    const int32_t left = window->columns.begin + window->columns.first;
    const int32_t columns = window->columns.extent;
    const int32_t stride = x->shape->stride[WIDTH];
    const ptrdiff_t skip = offset + (ptrdiff_t)(left - x->shape->origin[WIDTH]) * stride;
    uint8_t *to = window->bytes + window->rows.first * columns + window->columns.first;

    if (window->columns.held <= 0) {
        return;
    }
    for (int32_t done = 0; done < window->rows.held;) {
        const int32_t row = top + done;
        const int32_t rows = tilewright_rows_in_line(x, HEIGHT, row, window->rows.held - done);
        const uint8_t *const from = tilewright_row(x, HEIGHT, row) + skip;
        if (window->is_unsigned != 0 || TILEWRIGHT_FOR_SIZE) {
            copy_each(window, to + done * columns, from, x->shape->stride[HEIGHT], stride, rows);
        } else {
            copy(window, to + done * columns, from, x->shape->stride[HEIGHT], stride, rows);
        }
        done += rows;
    }
}

/* Kernels of any extents and dilations. */
TILEWRIGHT_INLINE void any(const struct tilewright_depthwise_integer_attributes *a,
                           const struct tilewright_depthwise_plane *plane, const int32_t bytes)
{
    int32_t *sums = plane->sums;
    for (int32_t i = 0; i < plane->rows; i++) {
        for (int32_t j = 0; j < plane->columns; j++) {
            const int8_t *row = plane->bytes + i * a->strides[0] * plane->pitch + j * plane->step;
            int32_t sum = plane->bias;
            int32_t tap = 0;
            for (int32_t kh = a->kernel[0]; kh > 0; kh--) {
                const int8_t *x = row;
                for (int32_t kw = a->kernel[1]; kw > 0; kw--) {
                    sum += *x * tilewright_weight_at(plane->weights, tap++, bytes);
                    x += a->dilations[1];
                }
                row += a->dilations[0] * plane->pitch;
            }
            *sums++ = sum;
        }
    }
}

#define TILEWRIGHT_DEFINE_SUMS(name, function, bytes)                                              \
    void tilewright_depthwise_##name(const struct tilewright_depthwise_integer_attributes *a,      \
                                     const struct tilewright_depthwise_plane *plane)               \
    {                                                                                              \
        function(a, plane, bytes);                                                                 \
    }

TILEWRIGHT_DEFINE_SUMS(stride, stride, 1)
TILEWRIGHT_DEFINE_SUMS(wide_stride, stride, 2)
TILEWRIGHT_DEFINE_SUMS(any, any, 1)
TILEWRIGHT_DEFINE_SUMS(wide_any, any, 2)

/* Finishes the sums of a plane: together where its pixels are evenly spaced in y, else row by row.
 */
static void store(const struct tilewright_limits *limits, const struct tilewright_view *y,
                  ptrdiff_t offset, const struct tilewright_depthwise_plane *plane,
                  const int32_t *row, tilewright_line_finish *finish)
{
    const struct tilewright_shape *out = y->shape;
    const int32_t columns = plane->columns;
    const int32_t down = out->stride[HEIGHT];
    const int32_t across = columns == 1 ? down : out->stride[WIDTH];

    const int32_t is_even = columns * across == (columns == 1 ? across : down);
    int32_t rows = 1;

    if (out->ring_rows == 0 && is_even) {
        finish(limits, plane->sums, row, y->base + offset, across, plane->rows * columns);
        return;
    }
    for (int32_t done = 0; done < plane->rows; done += rows) {
        const int32_t at = out->origin[HEIGHT] + done;
        if (is_even) {
            rows = tilewright_rows_in_line(y, HEIGHT, at, plane->rows - done);
        }
        finish(limits, plane->sums + done * columns, row, tilewright_row(y, HEIGHT, at) + offset,
               across, rows * columns);
    }
}

/* Computes one channel with a function that stores elements itself: all rows of y that lie one
 * behind the other. */
static void stored(const struct tilewright_depthwise_integer_attributes *a,
                   struct tilewright_depthwise_plane *plane, const struct tilewright_view *y,
                   ptrdiff_t offset)
{
    const struct tilewright_shape *out = y->shape;
    const int32_t all = out->extent[HEIGHT];
    plane->columns = out->extent[WIDTH];
    plane->down = out->stride[HEIGHT];
    plane->across = out->stride[WIDTH];
    for (int32_t done = 0; done < all; done += plane->rows) {
        const int32_t at = out->origin[HEIGHT] + done;
        plane->rows = tilewright_rows_in_line(y, HEIGHT, at, all - done);
        plane->out = tilewright_row(y, HEIGHT, at) + offset;
        a->sums(a, plane);
        plane->bytes += plane->rows * plane->pitch;
    }
}

/* Computes one channel: the whole plane at once if it is small, else column by column. */
static void channel(const struct tilewright_depthwise_integer_attributes *a,
                    struct tilewright_depthwise_plane *plane, const struct tilewright_view *y,
                    ptrdiff_t offset, const int32_t *row, const struct tilewright_limits *limits,
                    tilewright_depthwise_sums *multiply, tilewright_line_finish *finish)
{
    const int32_t width = y->shape->extent[WIDTH];

    plane->columns = plane->rows * width <= TILEWRIGHT_DEPTHWISE_PLANE ? width : 1;
    for (int32_t ow = 0; ow < width; ow += plane->columns) {
        multiply(a, plane);
        store(limits, y, offset, plane, row, finish);
        plane->bytes += a->strides[1];
        offset += y->shape->stride[WIDTH];
    }
}

void tilewright_depthwise_integer(const struct tilewright_depthwise_integer_attributes *a,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_line_rule *const rule = a->rule;
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const struct tilewright_limits limits = TILEWRIGHT_LIMITS(a);
    const struct tilewright_geometry geometry = {a->kernel, a->strides, a->dilations, a->pads};
    const int32_t weight_bytes = a->weight_bytes * a->kernel[0] * a->kernel[1];
    struct window window;
    struct tilewright_depthwise_plane plane;

    window.bytes = operands[SCRATCH].base;
    window.is_unsigned = a->is_unsigned;
    window.rows = tilewright_depthwise_axis(&geometry, in, out, HEIGHT);
    window.columns = tilewright_depthwise_axis(&geometry, in, out, WIDTH);
    const int32_t size = window.rows.extent * window.columns.extent;
    plane.sums = (int32_t *)(void *)(window.bytes + a->sums_at);
    plane.rows = out->extent[HEIGHT];
    plane.pitch = window.columns.extent;
    plane.step = a->strides[1];
    plane.limits = &limits;

    (void)flags;
    for (int32_t j = 0; j < size; j++) {
        window.bytes[j] = (uint8_t)(a->is_unsigned != 0 ? a->padding ^ 128 : a->padding);
    }
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        const int32_t *row = (const int32_t *)(const void *)operands[ROWS].base;
        plane.weights = (const int8_t *)operands[WEIGHTS].base;
        for (int32_t c = 0; c < out->extent[CHANNEL]; c++) {
            load(&window, &operands[X],
                 (ptrdiff_t)n * in->stride[BATCH] + (ptrdiff_t)c * in->stride[CHANNEL]);
            plane.bytes = (const int8_t *)window.bytes;
            plane.bias = rule->biased != 0 ? row[0] : 0;
            const ptrdiff_t offset =
                (ptrdiff_t)n * out->stride[BATCH] + (ptrdiff_t)c * out->stride[CHANNEL];
            if (a->stores != 0) {
                plane.row = row;
                stored(a, &plane, &operands[Y], offset);
            } else {
                channel(a, &plane, &operands[Y], offset, row, &limits, a->sums, rule->finish);
            }
            plane.weights += weight_bytes;
            row += rule->row_words;
        }
    }
}
