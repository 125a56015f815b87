/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_block.h"
#include "tilewright/kernels/window.h"

enum { X, WEIGHTS, BIAS, Y };
enum { TAPS = Y, Y_OF_TAPS }; /* operands of a kernel that has some taps at a time */
enum { N, C, H, W };

struct conv {
    const struct tilewright_conv_f32_attributes *attributes;
    const struct tilewright_shape *x;
    const struct tilewright_shape *y;
    const uint8_t *x_base;
    uint8_t *y_base;
    const float *weights;
    float *scratch;
    int32_t inputs; /* channels of x in one group, or in the tile if the reduction is cut */
    /* Rows and columns of the kernel that the call has, and how far behind the first ones they are.
     */
    int32_t kernel[2];
    int32_t behind[2];
    /* Bytes from element to element of a whole kernel row if all lie at one distance, else 0; the
     * same in a ring of columns. */
    int32_t run_step;
    int32_t ring_step;
    struct tilewright_float_rows rows;
};

/* The next output position, in the tile's coordinates. */
struct position {
    int32_t row;
    int32_t column;
};

static TILEWRIGHT_NOINLINE void four_gathered(struct tilewright_float_rows *job,
                                              const float *weights)
{
    tilewright_float_rows(job, weights, 4, TILEWRIGHT_TAPS_INTERLEAVED);
}

static TILEWRIGHT_NOINLINE void four_in_place(struct tilewright_float_rows *job,
                                              const float *weights)
{
    tilewright_float_rows(job, weights, 4, TILEWRIGHT_TAPS_APART);
}

static TILEWRIGHT_NOINLINE void four_dense(struct tilewright_float_rows *job, const float *weights)
{
    tilewright_float_rows(job, weights, 4, TILEWRIGHT_TAPS_DENSE);
}

static TILEWRIGHT_NOINLINE void one(struct tilewright_float_rows *job, const float *weights)
{
    tilewright_float_rows(job, weights, 1, TILEWRIGHT_TAPS_APART);
}

TILEWRIGHT_INLINE float *gather_words(float *to, int32_t lanes, const uint8_t *from, int32_t step,
                                      int32_t count)
{
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < count; i++) {
        *to = tilewright_load_f32(from);
        to += lanes;
        from += step;
    }
    return to;
}

static float *gather_run(float *to, int32_t lanes, const uint8_t *from, int32_t step, int32_t count)
{
    if (TILEWRIGHT_FAST_FLOATS && lanes == 4 && step == 4) {
        return gather_words(to, 4, from, 4, count);
    }
    return gather_words(to, lanes, from, step, count);
}

static float *gather_zeros(float *to, int32_t lanes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        *to = 0.0f;
        to += lanes;
    }
    return to;
}

/* Gathers one kernel row of one output position, tap by tap; `column` is the input column of the
 * first tap. */
static float *gather_taps(const struct conv *conv, float *to, const uint8_t *row, int32_t column)
{
    const struct tilewright_shape *x = conv->x;
    const int32_t inputs = conv->inputs;
    const int32_t lanes = conv->attributes->gather;
    const int32_t begin = x->origin[W];
    const int32_t end = begin + x->extent[W];

    for (int32_t tap = 0; tap < conv->kernel[1]; tap++) {
        if (column < begin || column >= end) {
            to = gather_zeros(to, lanes, inputs);
        } else {
            to = gather_run(to, lanes, row + tilewright_axis_offset(x, W, column), x->stride[C],
                            inputs);
        }
        column += conv->attributes->dilations[1];
    }
    return to;
}

/* Gathers one kernel row from a ring of columns, which goes on at its begin. */
static TILEWRIGHT_NOINLINE float *gather_ring(const struct conv *conv, float *to,
                                              const uint8_t *row,
                                              const struct tilewright_window *columns)
{
    const struct tilewright_shape *x = conv->x;
    const int32_t lanes = conv->attributes->gather;
    const int32_t inputs = conv->inputs;
    int32_t at = columns->start + columns->first;
    int32_t left = columns->end - columns->first;

    to = gather_zeros(to, lanes, columns->first * inputs);
    while (left > 0) {
        const int32_t slot = at % x->ring_rows;
        const int32_t count = tilewright_smaller(left, x->ring_rows - slot);
        to = gather_run(to, lanes, row + slot * x->stride[W], conv->ring_step, count * inputs);
        at += count;
        left -= count;
    }
    return gather_zeros(to, lanes, (conv->kernel[1] - columns->end) * inputs);
}

/* Gathers one kernel row whose taps lie at one distance: zeros, what is inside, zeros. */
static float *gather_row(const struct conv *conv, float *to, const uint8_t *row,
                         const struct tilewright_window *columns)
{
    const struct tilewright_shape *x = conv->x;
    const int32_t lanes = conv->attributes->gather;
    const int32_t inputs = conv->inputs;
    const int32_t first =
        columns->start + columns->first * conv->attributes->dilations[1] - x->origin[W];
    to = gather_zeros(to, lanes, columns->first * inputs);
    to = gather_run(to, lanes, row + first * x->stride[W], conv->run_step,
                    (columns->end - columns->first) * inputs);
    return gather_zeros(to, lanes, (conv->kernel[1] - columns->end) * inputs);
}

/* Gathers all taps of one output position; if four positions are gathered together, into every
 * fourth word of the scratch. */
static TILEWRIGHT_NOINLINE void gather(const struct conv *conv, float *to, struct position at)
{
    const struct tilewright_conv_f32_attributes *attributes = conv->attributes;
    const struct tilewright_shape *x = conv->x;
    const struct tilewright_window columns = tilewright_window_at(
        x, W, conv->y->origin[W] + at.column, attributes->strides[1],
        attributes->pads[1] - conv->behind[1], conv->kernel[1], attributes->dilations[1]);
    int32_t row = (conv->y->origin[H] + at.row) * attributes->strides[0] - attributes->pads[0] +
                  conv->behind[0];

    for (int32_t tap = 0; tap < conv->kernel[0]; tap++) {
        if (row < x->origin[H] || row >= x->origin[H] + x->extent[H]) {
            to = gather_zeros(to, attributes->gather, conv->kernel[1] * conv->inputs);
        } else {
            const uint8_t *from = conv->x_base + tilewright_axis_offset(x, H, row);
            if (conv->run_step != 0) {
                to = gather_row(conv, to, from, &columns);
            } else if (conv->ring_step != 0) {
                to = gather_ring(conv, to, from, &columns);
            } else {
                to = gather_taps(conv, to, from, columns.start);
            }
        }
        row += attributes->dilations[0];
    }
}

/* Sets run_step and ring_step, of which a kernel row that cannot be gathered in runs has neither.
 */
static void set_run(struct conv *conv)
{
    const struct tilewright_shape *x = conv->x;
    const int32_t inputs = conv->inputs;
    const int32_t tap_step = conv->attributes->dilations[1] * x->stride[W];
    const int32_t step = inputs == 1 ? tap_step : x->stride[C];

    conv->run_step = 0;
    conv->ring_step = 0;
    if (inputs > 1 && conv->kernel[1] > 1 && tap_step != inputs * x->stride[C]) {
        return;
    }
    if (x->ring_rows == 0 || x->ring_axis != W) {
        conv->run_step = step;
    } else if (conv->attributes->dilations[1] == 1) {
        conv->ring_step = step;
    }
}

static void set_position(struct conv *conv, int32_t lane, struct position at)
{
    const struct tilewright_shape *y = conv->y;
    const int32_t row = y->origin[H] + at.row;
    const int32_t column = y->origin[W] + at.column;
    conv->rows.y[lane] =
        conv->y_base + tilewright_axis_offset(y, H, row) + tilewright_axis_offset(y, W, column);
    if (conv->attributes->gather != 0) {
        conv->rows.x[lane] = (const uint8_t *)(conv->scratch + lane);
        gather(conv, conv->scratch + lane, at);
        return;
    }
    conv->rows.x[lane] = conv->x_base +
                         tilewright_axis_offset(conv->x, H, row * conv->attributes->strides[0]) +
                         tilewright_axis_offset(conv->x, W, column * conv->attributes->strides[1]);
}

/* Computes all output positions of one group, four at a time; a block may continue in the next row.
 */
static void run_group(struct conv *conv)
{
    struct position at = {0, 0};
    int32_t left = conv->y->extent[H] * conv->y->extent[W];

    while (left > 0) {
        const int32_t most = conv->attributes->gather == 1 ? 1 : 4;
        const int32_t lanes = left < most ? left : most;
        for (int32_t lane = 0; lane < lanes; lane++) {
            set_position(conv, lane, at);
            at.column++;
            if (at.column == conv->y->extent[W]) {
                at.column = 0;
                at.row++;
            }
        }
        left -= lanes;
        if (lanes < 4) {
            /* Single positions cost less than a block of four with fewer positions. */
            for (int32_t lane = 0; lane < lanes; lane++) {
                conv->rows.x[0] = conv->rows.x[lane];
                conv->rows.y[0] = conv->rows.y[lane];
                one(&conv->rows, conv->weights);
            }
        } else if (conv->attributes->gather != 0) {
            four_gathered(&conv->rows, conv->weights);
        } else if (TILEWRIGHT_FAST_FLOATS && conv->rows.x_step == 4) {
            four_dense(&conv->rows, conv->weights);
        } else {
            four_in_place(&conv->rows, conv->weights);
        }
    }
}

/* Sets which taps of one axis of the kernel the call has: those that `taps` says, or all. */
static void set_taps(struct conv *conv, const uint32_t *taps, int32_t axis)
{
    conv->kernel[axis] = conv->attributes->kernel[axis];
    conv->behind[axis] = 0;
    if (taps != NULL) {
        conv->kernel[axis] = (int32_t)(taps[axis] >> 16);
        conv->behind[axis] = (int32_t)(taps[axis] & 0xffffu) * conv->attributes->dilations[axis];
    }
}

/* The part of the state that is the same for all positions; scratch and partial results stand
 * behind the view of y. */
static void prepare(struct conv *conv, const struct tilewright_conv_f32_attributes *attributes,
                    const struct tilewright_shape *x, const struct tilewright_view *written,
                    const uint32_t *taps, uint32_t flags)
{
    const struct tilewright_shape *y = written->shape;
    const int gathers = attributes->gather != 0;
    const struct tilewright_view *partial = &written[gathers ? 2 : 1];

    conv->attributes = attributes;
    conv->x = x;
    conv->y = y;
    /* A tile of x has whole groups, or some channels of the only group. */
    conv->inputs =
        x->extent[C] < attributes->group_inputs ? x->extent[C] : attributes->group_inputs;
    conv->scratch = gathers ? (float *)(void *)written[1].base : NULL;
    set_taps(conv, taps, 0);
    set_taps(conv, taps, 1);
    set_run(conv);
    conv->rows.x_step = gathers ? 4 * attributes->gather : x->stride[C];
    conv->rows.taps = conv->kernel[0] * conv->kernel[1] * conv->inputs;
    conv->rows.y_step = y->stride[C];
    conv->rows.minimum = attributes->minimum;
    conv->rows.maximum = attributes->maximum;
    conv->rows.partial = flags == TILEWRIGHT_WHOLE ? NULL : (float *)(void *)partial->base;
    conv->rows.flags = flags;
}

static void run(const struct tilewright_conv_f32_attributes *attributes,
                const struct tilewright_view *operands, const struct tilewright_view *y,
                const uint32_t *taps, uint32_t flags)
{
    const struct tilewright_view *x = &operands[X];
    const int32_t outputs = attributes->group_outputs;
    const int32_t groups = y->shape->extent[C] > outputs ? y->shape->extent[C] / outputs : 1;
    const int32_t columns = groups > 1 ? outputs : y->shape->extent[C];
    struct conv conv;

    prepare(&conv, attributes, x->shape, y, taps, flags);
    conv.rows.columns = columns;
    for (int32_t n = 0; n < y->shape->extent[N]; n++) {
        const int32_t image = y->shape->origin[N] + n;
        conv.weights = (const float *)(const void *)operands[WEIGHTS].base;
        conv.rows.bias = (const float *)(const void *)operands[BIAS].base;
        conv.x_base = x->base + tilewright_axis_offset(x->shape, N, image);
        conv.y_base = y->base + tilewright_axis_offset(y->shape, N, image);
        for (int32_t group = 0; group < groups; group++) {
            run_group(&conv);
            conv.weights += (ptrdiff_t)((columns + 3) / 4) * 4 * conv.rows.taps;
            conv.rows.bias += (columns + 3) / 4 * 4;
            conv.x_base += (ptrdiff_t)attributes->group_inputs * x->shape->stride[C];
            conv.y_base += (ptrdiff_t)columns * y->shape->stride[C];
        }
    }
}

void tilewright_conv_f32(const struct tilewright_conv_f32_attributes *attributes,
                         const struct tilewright_view *operands, uint32_t flags)
{
    run(attributes, operands, &operands[Y], NULL, flags);
}

void tilewright_conv_f32_taps(const struct tilewright_conv_f32_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags)
{
    const uint32_t *taps = (const uint32_t *)(const void *)operands[TAPS].base;
    run(attributes, operands, &operands[Y_OF_TAPS], taps, flags);
}
