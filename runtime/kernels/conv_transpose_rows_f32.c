/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolution of an image whose channels lie side by side. Outputs that are a stride
 * apart in a row have the same taps of the kernel, of which each is a run over the channels of one
 * pixel: four of these outputs are computed together. */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_block.h"
#include "tilewright/kernels/window.h"

enum { X, WEIGHTS, BIAS, Y, TABLE };
enum { N, C, H, W };
enum { LANES = 4, NOWHERE = -1 };

struct conv {
    const struct tilewright_conv_transpose_rows_f32_attributes *attributes;
    const struct tilewright_shape *x;
    const struct tilewright_shape *y;
    const float *weights;
    struct tilewright_float_run *table;
    int32_t *weights_of_runs;
    struct tilewright_float_runs runs;
    struct tilewright_float_rows rows;
};

static TILEWRIGHT_NOINLINE void four(struct conv *conv)
{
    tilewright_float_columns(&conv->rows, &conv->runs, conv->weights, 4, TILEWRIGHT_TAPS_DENSE);
}

static TILEWRIGHT_NOINLINE void one(struct conv *conv)
{
    tilewright_float_columns(&conv->rows, &conv->runs, conv->weights, 1, TILEWRIGHT_TAPS_DENSE);
}

/* The position in x that a tap adds to position `at` of y on an axis (0: rows); NOWHERE if there is
 * none in the tile. */
static int32_t source(const struct conv *conv, int32_t axis, int32_t at, int32_t tap)
{
    const struct tilewright_conv_transpose_rows_f32_attributes *a = conv->attributes;
    return tilewright_transposed_source(conv->x, H + axis, at, a->strides[axis], a->pads[axis], tap,
                                        a->dilations[axis]);
}

/* Lists the runs of outputs of a row from a column on, a stride apart; runs that no lane has are
 * left out. */
static void list_runs(struct conv *conv, int32_t row, int32_t column, int32_t lanes)
{
    const struct tilewright_conv_transpose_rows_f32_attributes *a = conv->attributes;
    const int32_t inputs = conv->x->extent[C];
    struct tilewright_float_run *run = conv->table;
    int32_t *weights = conv->weights_of_runs;

    for (int32_t kh = 0; kh < a->kernel[0]; kh++) {
        const int32_t from = source(conv, 0, row, kh);
        if (from == NOWHERE) {
            continue;
        }
        const int32_t line = (int32_t)tilewright_axis_offset(conv->x, H, from);
        for (int32_t kw = 0; kw < a->kernel[1]; kw++) {
            int32_t found = 0;
            for (int32_t i = 0; i < lanes; i++) {
                const int32_t at = source(conv, 1, column + i * a->strides[1], kw);
                run->place[i] = tilewright_float_zeros(&conv->runs);
                if (at != NOWHERE) {
                    run->place[i] = tilewright_float_place(
                        &conv->runs, line + (int32_t)tilewright_axis_offset(conv->x, W, at));
                    found = 1;
                }
            }
            run->taps = inputs;
            *weights = 4 * (kh * a->kernel[1] + kw) * inputs;
            run += found;
            weights += found;
        }
    }
    conv->runs.end = run;
}

/* Computes a row of y, whose elements begin at `to`: the columns of each phase of the stride. */
static void run_row(struct conv *conv, int32_t row, uint8_t *to)
{
    const struct tilewright_shape *y = conv->y;
    const int32_t stride = conv->attributes->strides[1];
    const int32_t end = y->origin[W] + y->extent[W];

    for (int32_t phase = 0; phase < stride; phase++) {
        int32_t column = y->origin[W] + phase;
        while (column < end) {
            const int32_t lanes = column + (LANES - 1) * stride < end ? LANES : 1;
            for (int32_t i = 0; i < lanes; i++) {
                conv->rows.y[i] = to + tilewright_axis_offset(y, W, column + i * stride);
            }
            list_runs(conv, row, column, lanes);
            if (lanes == LANES) {
                four(conv);
            } else {
                one(conv);
            }
            column += lanes * stride;
        }
    }
}

void tilewright_conv_transpose_rows_f32(
    const struct tilewright_conv_transpose_rows_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *x = operands[X].shape;
    const struct tilewright_shape *y = operands[Y].shape;
    const int32_t taps = attributes->kernel[0] * attributes->kernel[1];
    struct tilewright_float_run *table =
        (struct tilewright_float_run *)(void *)operands[TABLE].base;
    int32_t *weights = (int32_t *)(void *)(table + taps);
    float *zeros = (float *)(void *)(weights + taps);
    struct conv conv = {
        .attributes = attributes, .x = x, .y = y, .table = table, .weights_of_runs = weights};

    for (int32_t i = 0; i < x->extent[C]; i++) {
        zeros[i] = 0.0f;
    }
    conv.weights = (const float *)(const void *)operands[WEIGHTS].base;
    conv.runs.block = 4 * taps * x->extent[C];
    conv.runs.weights = weights;
    conv.runs.zeros = zeros;
    conv.runs.first = table;
    conv.rows.columns = y->extent[C];
    conv.rows.y_step = y->stride[C];
    conv.rows.minimum = attributes->minimum;
    conv.rows.maximum = attributes->maximum;
    conv.rows.bias = (const float *)(const void *)operands[BIAS].base;
    conv.rows.partial = NULL;
    conv.rows.flags = flags;
    for (int32_t n = y->origin[N]; n < y->origin[N] + y->extent[N]; n++) {
        conv.runs.base = operands[X].base + tilewright_axis_offset(x, N, n);
        uint8_t *image = operands[Y].base + tilewright_axis_offset(y, N, n);
        for (int32_t row = y->origin[H]; row < y->origin[H] + y->extent[H]; row++) {
            run_row(&conv, row, image + tilewright_axis_offset(y, H, row));
        }
    }
}
