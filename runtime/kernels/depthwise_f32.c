/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/slide_f32.h"
#include "tilewright/kernels/window.h"

enum { N, C, H, W };

/* The state for four channels of one image. */
struct depthwise {
    const struct tilewright_depthwise_f32_attributes *attributes;
    const struct tilewright_shape *x;
    const struct tilewright_shape *y;
    const uint8_t *x_base;
    uint8_t *y_base;
    const float *weights;
    int32_t channels;
};

TILEWRIGHT_INLINE void store(const struct depthwise *job, uint8_t *y, const float *sum)
{
    const int32_t stride = job->y->stride[C];
    const float minimum = job->attributes->minimum;
    const float maximum = job->attributes->maximum;
    TILEWRIGHT_UNROLL_4
    for (int32_t c = 0; c < 4; c++) {
        if (c < job->channels) {
            tilewright_store_f32(y, tilewright_clamp(sum[c], minimum, maximum));
            y += stride;
        }
    }
}

static int is_ring(const struct tilewright_shape *shape, int32_t axis)
{
    return shape->ring_rows != 0 && shape->ring_axis == axis;
}

/* Computes one output position. `dense`, for which callers pass a constant, says that four channels
 * lie side by side and columns are not in a ring. Otherwise channels behind the last channel read
 * the last channel again. */
TILEWRIGHT_INLINE void position(const struct depthwise *job, const struct tilewright_window *rows,
                                int32_t column, uint8_t *y, int dense)
{
    const struct tilewright_depthwise_f32_attributes *attributes = job->attributes;
    const int32_t dilation = attributes->dilations[1];
    const struct tilewright_window columns =
        tilewright_window_at(job->x, W, column, attributes->strides[1], attributes->pads[1],
                             attributes->kernel[1], dilation);
    const int32_t last = dense ? 3 : job->channels - 1;
    const int32_t stride = dense ? 4 : job->x->stride[C];
    const ptrdiff_t step[4] = {0, (ptrdiff_t)(last < 1 ? last : 1) * stride,
                               (ptrdiff_t)(last < 2 ? last : 2) * stride, (ptrdiff_t)last * stride};
    const int32_t tap = dilation * job->x->stride[W];
    const int ring = !dense && is_ring(job->x, W);
    const int32_t first = columns.start + columns.first * dilation;
    float sum[4] = {job->weights[0], job->weights[1], job->weights[2], job->weights[3]};

    for (int32_t i = rows->first; i < rows->end; i++) {
        const float *weights = job->weights + 4 + 4 * (i * attributes->kernel[1] + columns.first);
        const float *end = weights + 4 * (columns.end - columns.first);
        const uint8_t *row =
            job->x_base +
            tilewright_axis_offset(job->x, H, rows->start + i * attributes->dilations[0]);
        const uint8_t *x = row + tilewright_axis_offset(job->x, W, first);
        int32_t at = first;
        while (weights != end) {
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < 4; c++) {
                sum[c] =
                    tilewright_multiply_add(tilewright_load_f32(x + step[c]), weights[c], sum[c]);
            }
            weights += 4;
            at += dilation;
            x = ring ? row + tilewright_axis_offset(job->x, W, at) : x + tap;
        }
    }
    store(job, y, sum);
}

static TILEWRIGHT_NOINLINE void one_dense(const struct depthwise *job,
                                          const struct tilewright_window *rows, int32_t column,
                                          uint8_t *y)
{
    position(job, rows, column, y, 1);
}

static TILEWRIGHT_NOINLINE void
one(const struct depthwise *job, const struct tilewright_window *rows, int32_t column, uint8_t *y)
{
    position(job, rows, column, y, 0);
}

/* Computes four neighbouring outputs of a row whose windows lie inside the input, with channels
 * side by side. */
static TILEWRIGHT_NOINLINE void four_inside(const struct depthwise *job,
                                            const struct tilewright_window *rows, int32_t column,
                                            uint8_t *y)
{
    const struct tilewright_depthwise_f32_attributes *attributes = job->attributes;
    const int32_t neighbour = attributes->strides[1] * job->x->stride[W];
    const int32_t tap = attributes->dilations[1] * job->x->stride[W];
    const ptrdiff_t first =
        tilewright_axis_offset(job->x, W, column * attributes->strides[1] - attributes->pads[1]);
    const float *weights = job->weights + 4 + 4 * rows->first * attributes->kernel[1];
    float sum[4][4];

    TILEWRIGHT_UNROLL_4
    for (int32_t p = 0; p < 4; p++) {
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < 4; c++) {
            sum[p][c] = job->weights[c];
        }
    }
    for (int32_t i = rows->first; i < rows->end; i++) {
        const float *end = weights + 4 * attributes->kernel[1];
        const uint8_t *x[4];
        x[0] = job->x_base +
               tilewright_axis_offset(job->x, H, rows->start + i * attributes->dilations[0]) +
               first;
        x[1] = x[0] + neighbour;
        x[2] = x[1] + neighbour;
        x[3] = x[2] + neighbour;
        while (weights != end) {
            TILEWRIGHT_UNROLL_4
            for (int32_t p = 0; p < 4; p++) {
                TILEWRIGHT_UNROLL_4
                for (int32_t c = 0; c < 4; c++) {
                    sum[p][c] = tilewright_multiply_add(tilewright_load_f32(x[p] + 4 * c),
                                                        weights[c], sum[p][c]);
                }
                x[p] += tap;
            }
            weights += 4;
        }
    }
    TILEWRIGHT_UNROLL_4
    for (int32_t p = 0; p < 4; p++) {
        store(job, y, sum[p]);
        y += job->y->stride[W];
    }
}

/* Computes the rows of one channel. */
static TILEWRIGHT_NOINLINE void slide_channel(const struct depthwise *job,
                                              const struct tilewright_slide_run *run,
                                              const uint8_t *const *first, const float *weights,
                                              uint8_t *y)
{
    struct tilewright_slide slide = {.bias = weights[0],
                                     .minimum = job->attributes->minimum,
                                     .maximum = job->attributes->maximum};
    ptrdiff_t offset = 0;

    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < 3; i++) {
        TILEWRIGHT_UNROLL_4
        for (int32_t j = 0; j < 3; j++) {
            slide.weights[3 * i + j] = weights[4 + 4 * (3 * i + j)];
        }
    }
    for (int32_t row = 0; row < run->rows; row++) {
        const uint8_t *rows[3] = {first[0] + offset, first[1] + offset, first[2] + offset};
        tilewright_slide_row(&slide, run, rows, y);
        offset += run->x_row_step;
        y += run->y_row_step;
    }
}

/* Whether a row of the output can be computed by slide_channel whole; sets what is known of the
 * columns. */
static int slides(const struct depthwise *job, struct tilewright_slide_run *run)
{
    const struct tilewright_depthwise_f32_attributes *attributes = job->attributes;
    const struct tilewright_shape *x = job->x;
    const int32_t begin = job->y->origin[W];
    const int32_t end = begin + job->y->extent[W];
    const int32_t start = begin - attributes->pads[1];
    /* Behind the last output whose three columns are inside. */
    const int32_t inside_end = x->origin[W] + x->extent[W] - 2 + attributes->pads[1];

    if (!TILEWRIGHT_FAST_FLOATS || attributes->kernel[0] != 3 || attributes->kernel[1] != 3 ||
        attributes->strides[1] != 1 || attributes->dilations[1] != 1 || is_ring(x, W) ||
        is_ring(job->y, W)) {
        return 0;
    }
    run->left = start < x->origin[W];
    run->right = inside_end < end;
    run->inside = end - begin - run->left - run->right;
    run->x_step = x->stride[W];
    run->y_step = job->y->stride[W];
    return run->inside >= 1 && start + 1 >= x->origin[W] && inside_end + 1 >= end;
}

/* How many rows, of which each is `step` behind the one before, lie at one distance from `row` on:
 * a ring goes on at its begin. */
static int32_t rows_in_turn(const struct tilewright_shape *shape, int32_t row, int32_t step)
{
    if (!is_ring(shape, H)) {
        return INT32_MAX;
    }
    return (shape->ring_rows - 1 - row % shape->ring_rows) / step + 1;
}

/* How many rows, from one whose window is `rows` on, have all three rows inside and follow at one
 * distance. */
static int32_t rows_inside(const struct depthwise *job, const struct tilewright_window *rows,
                           int32_t row)
{
    const struct tilewright_depthwise_f32_attributes *attributes = job->attributes;
    const int32_t last = rows->start + 2 * attributes->dilations[0];
    const int32_t more =
        (job->x->origin[H] + job->x->extent[H] - 1 - last) / attributes->strides[0];
    int32_t count = tilewright_smaller(job->y->origin[H] + job->y->extent[H] - row, more + 1);

    if (rows->first != 0 || rows->end != 3) {
        return 0;
    }
    for (int32_t i = 0; i < 3; i++) {
        const int32_t at = rows->start + i * attributes->dilations[0];
        count = tilewright_smaller(count, rows_in_turn(job->x, at, attributes->strides[0]));
    }
    return tilewright_smaller(count, rows_in_turn(job->y, row, 1));
}

/* Computes run->rows rows of all channels from the row on whose window is `rows`; `y` is where they
 * begin. */
static void slide_rows(const struct depthwise *job, struct tilewright_slide_run *run,
                       const struct tilewright_window *rows, uint8_t *y)
{
    const struct tilewright_depthwise_f32_attributes *attributes = job->attributes;
    const struct tilewright_shape *x = job->x;
    const int32_t start = job->y->origin[W] - attributes->pads[1];
    const ptrdiff_t first = tilewright_axis_offset(x, W, run->left ? x->origin[W] : start);
    const uint8_t *at[3];

    run->x_row_step = (ptrdiff_t)attributes->strides[0] * x->stride[H];
    run->y_row_step = job->y->stride[H];
    for (int32_t i = 0; i < 3; i++) {
        const int32_t row = rows->start + i * attributes->dilations[0];
        at[i] = job->x_base + tilewright_axis_offset(x, H, row) + first;
    }
    for (int32_t c = 0; c < job->channels; c++) {
        slide_channel(job, run, at, job->weights + c, y);
        y += job->y->stride[C];
        for (int32_t i = 0; i < 3; i++) {
            at[i] += x->stride[C];
        }
    }
}

/* Computes rows from `row` on, at least one; returns how many. */
static int32_t run_rows(const struct depthwise *job, int32_t row)
{
    const struct tilewright_depthwise_f32_attributes *attributes = job->attributes;
    const struct tilewright_shape *x = job->x;
    const struct tilewright_window rows =
        tilewright_window_at(x, H, row, attributes->strides[0], attributes->pads[0],
                             attributes->kernel[0], attributes->dilations[0]);
    uint8_t *y = job->y_base + tilewright_axis_offset(job->y, H, row);
    const int32_t end = job->y->origin[W] + job->y->extent[W];
    const int32_t reach =
        3 * attributes->strides[1] + (attributes->kernel[1] - 1) * attributes->dilations[1];
    const int dense = job->channels == 4 && x->stride[C] == 4 && !is_ring(x, W);
    const int blocks = dense && !is_ring(job->y, W);
    struct tilewright_slide_run run;

    run.rows = slides(job, &run) ? rows_inside(job, &rows, row) : 0;
    if (run.rows > 0) {
        slide_rows(job, &run, &rows, y + tilewright_axis_offset(job->y, W, job->y->origin[W]));
        return run.rows;
    }
    for (int32_t column = job->y->origin[W]; column < end;) {
        const int32_t start = column * attributes->strides[1] - attributes->pads[1];
        uint8_t *at = y + tilewright_axis_offset(job->y, W, column);
        if (blocks && column + 4 <= end && start >= x->origin[W] &&
            start + reach < x->origin[W] + x->extent[W]) {
            four_inside(job, &rows, column, at);
            column += 4;
        } else if (dense) {
            one_dense(job, &rows, column, at);
            column++;
        } else {
            one(job, &rows, column, at);
            column++;
        }
    }
    return 1;
}

void tilewright_depthwise_f32(const struct tilewright_depthwise_f32_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_view *x = &operands[0];
    const struct tilewright_view *y = &operands[2];
    const int32_t taps = attributes->kernel[0] * attributes->kernel[1];
    struct depthwise job = {attributes, x->shape, y->shape, NULL, NULL, NULL, 0};

    (void)flags;
    for (int32_t n = 0; n < y->shape->extent[N]; n++) {
        const int32_t image = y->shape->origin[N] + n;
        job.weights = (const float *)(const void *)operands[1].base;
        for (int32_t channel = 0; channel < y->shape->extent[C]; channel += 4) {
            const int32_t left = y->shape->extent[C] - channel;
            job.x_base = x->base + tilewright_axis_offset(x->shape, N, image) +
                         (ptrdiff_t)channel * x->shape->stride[C];
            job.y_base = y->base + tilewright_axis_offset(y->shape, N, image) +
                         (ptrdiff_t)channel * y->shape->stride[C];
            job.channels = left < 4 ? left : 4;
            for (int32_t row = 0; row < y->shape->extent[H];) {
                row += run_rows(&job, y->shape->origin[H] + row);
            }
            job.weights += 4 + 4 * taps;
        }
    }
}
