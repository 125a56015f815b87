/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of an image whose channels lie side by side: a row of the kernel is one run of taps,
 * which is read where it lies. Beside padding, and where columns lie apart, each tap is a run. */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_block.h"

enum { X, WEIGHTS, BIAS, Y };
enum { N, C, H, W };
enum { LANES = 4 };
#define NO_ROW INT32_MIN

struct conv {
    const struct tilewright_conv_f32_attributes *attributes;
    const struct tilewright_shape *x;
    const struct tilewright_shape *y;
    uint8_t *y_base;
    const float *weights;
    struct tilewright_float_run *table;
    struct tilewright_float_runs runs;
    struct tilewright_float_rows rows;
    int32_t inputs; /* channels of x in one group, or in the tile if the reduction is cut */
    /* Taps of a kernel row, and for how many first columns these lie side by side inside the tile;
     * 0 columns: never. */
    int32_t row_taps;
    int32_t inside;
};

/* An output position: of its first tap the row and column in x, as positions in the tile. */
struct position {
    int32_t row;
    int32_t column;
};

static TILEWRIGHT_NOINLINE void four(struct conv *conv)
{
    tilewright_float_columns(&conv->rows, &conv->runs, conv->weights, 4, TILEWRIGHT_TAPS_DENSE);
}

static TILEWRIGHT_NOINLINE void one(struct conv *conv)
{
    tilewright_float_columns(&conv->rows, &conv->runs, conv->weights, 1, TILEWRIGHT_TAPS_DENSE);
}

/* Lists the taps of one row of the kernel, each by itself; `from` are the bytes to the lanes' rows,
 * NO_ROW for rows outside. Returns the end of the list. */
static struct tilewright_float_run *list_taps(const struct conv *conv,
                                              struct tilewright_float_run *run, const int32_t *from,
                                              const struct position *at, int32_t lanes)
{
    const struct tilewright_shape *x = conv->x;
    for (int32_t tap = 0; tap < conv->attributes->kernel[1]; tap++) {
        const int32_t ahead = tap * conv->attributes->dilations[1];
        for (int32_t i = 0; i < lanes; i++) {
            const int32_t column = at[i].column + ahead;
            run->place[i] = tilewright_float_zeros(&conv->runs);
            if (from[i] != NO_ROW && (uint32_t)column < (uint32_t)x->extent[W]) {
                run->place[i] = tilewright_float_place(
                    &conv->runs,
                    from[i] + (int32_t)tilewright_axis_offset(x, W, x->origin[W] + column));
            }
        }
        run->taps = conv->inputs;
        run++;
    }
    return run;
}

/* Lists the runs of a block of output positions. */
static void list_runs(struct conv *conv, const struct position *at, int32_t lanes)
{
    const struct tilewright_shape *x = conv->x;
    struct tilewright_float_run *run = conv->table;
    int32_t is_inside = 1;

    for (int32_t i = 0; i < lanes; i++) {
        is_inside &= (uint32_t)at[i].column < (uint32_t)conv->inside;
    }
    for (int32_t tap = 0; tap < conv->attributes->kernel[0]; tap++) {
        const int32_t ahead = tap * conv->attributes->dilations[0];
        int32_t is_whole = is_inside;
        int32_t from[LANES];
        for (int32_t i = 0; i < lanes; i++) {
            const int32_t row = at[i].row + ahead;
            from[i] = NO_ROW;
            if ((uint32_t)row >= (uint32_t)x->extent[H]) {
                is_whole = 0;
            } else if (i > 0 && at[i].row == at[i - 1].row) {
                from[i] = from[i - 1];
            } else {
                from[i] = (int32_t)tilewright_axis_offset(x, H, x->origin[H] + row);
            }
        }
        if (is_whole == 0) {
            run = list_taps(conv, run, from, at, lanes);
            continue;
        }
        for (int32_t i = 0; i < lanes; i++) {
            run->place[i] =
                tilewright_float_place(&conv->runs, from[i] + at[i].column * x->stride[W]);
        }
        run->taps = conv->row_taps;
        run++;
    }
    conv->runs.end = run;
}

/* Computes all output positions of one group, four at a time; a block may continue in the next row.
 */
static void run_group(struct conv *conv)
{
    const struct tilewright_conv_f32_attributes *attributes = conv->attributes;
    const struct tilewright_shape *y = conv->y;
    const int32_t first =
        y->origin[W] * attributes->strides[1] - attributes->pads[1] - conv->x->origin[W];
    int32_t row = 0;
    int32_t column = 0;
    int32_t left = y->extent[H] * y->extent[W];

    while (left > 0) {
        /* Single positions cost less than a block of four with fewer positions. */
        const int32_t lanes = left < LANES ? 1 : LANES;
        struct position at[LANES];
        for (int32_t i = 0; i < lanes; i++) {
            at[i].row = (y->origin[H] + row) * attributes->strides[0] - attributes->pads[0] -
                        conv->x->origin[H];
            at[i].column = first + column * attributes->strides[1];
            conv->rows.y[i] = conv->y_base + tilewright_axis_offset(y, H, y->origin[H] + row) +
                              tilewright_axis_offset(y, W, y->origin[W] + column);
            column++;
            if (column == y->extent[W]) {
                column = 0;
                row++;
            }
        }
        left -= lanes;
        list_runs(conv, at, lanes);
        if (lanes == LANES) {
            four(conv);
        } else {
            one(conv);
        }
    }
}

/* The part of the state that is the same for all positions; the table with its zeros, and partial
 * results, stand behind the view of y. */
static void prepare(struct conv *conv, const struct tilewright_conv_f32_attributes *attributes,
                    const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *x = operands[X].shape;
    const int32_t taps = attributes->kernel[0] * attributes->kernel[1];
    const int32_t span = (attributes->kernel[1] - 1) * attributes->dilations[1];
    float *zeros;

    conv->attributes = attributes;
    conv->x = x;
    conv->y = operands[Y].shape;
    /* A tile of x has whole groups, or some channels of the only group. */
    conv->inputs =
        x->extent[C] < attributes->group_inputs ? x->extent[C] : attributes->group_inputs;
    conv->table = (struct tilewright_float_run *)(void *)operands[Y + 1].base;
    zeros = (float *)(void *)(conv->table + taps);
    for (int32_t i = 0; i < conv->inputs; i++) {
        zeros[i] = 0.0f;
    }
    conv->runs.weights = NULL;
    conv->runs.zeros = zeros;
    conv->runs.first = conv->table;
    conv->row_taps = attributes->kernel[1] * conv->inputs;
    conv->runs.block = 4 * taps * conv->inputs;
    conv->inside = x->extent[W] - span;
    if (conv->inside < 0 || (x->ring_rows != 0 && x->ring_axis == W) ||
        (attributes->kernel[1] > 1 &&
         attributes->dilations[1] * x->stride[W] != 4 * conv->inputs)) {
        conv->inside = 0;
    }
    conv->rows.y_step = conv->y->stride[C];
    conv->rows.minimum = attributes->minimum;
    conv->rows.maximum = attributes->maximum;
    conv->rows.partial = flags == TILEWRIGHT_WHOLE ? NULL : (float *)(void *)operands[Y + 2].base;
    conv->rows.flags = flags;
}

void tilewright_conv_rows_f32(const struct tilewright_conv_f32_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *x = operands[X].shape;
    const struct tilewright_shape *y = operands[Y].shape;
    const int32_t outputs = attributes->group_outputs;
    const int32_t groups = y->extent[C] > outputs ? y->extent[C] / outputs : 1;
    const int32_t columns = groups > 1 ? outputs : y->extent[C];
    struct conv conv;

    prepare(&conv, attributes, operands, flags);
    conv.rows.columns = columns;
    for (int32_t n = 0; n < y->extent[N]; n++) {
        const int32_t image = y->origin[N] + n;
        conv.weights = (const float *)(const void *)operands[WEIGHTS].base;
        conv.rows.bias = (const float *)(const void *)operands[BIAS].base;
        conv.runs.base = operands[X].base + tilewright_axis_offset(x, N, image);
        conv.y_base = operands[Y].base + tilewright_axis_offset(y, N, image);
        for (int32_t group = 0; group < groups; group++) {
            run_group(&conv);
            conv.weights += (ptrdiff_t)((columns + 3) / 4) * conv.runs.block;
            conv.rows.bias += (columns + 3) / 4 * 4;
            conv.runs.base += (ptrdiff_t)attributes->group_inputs * x->stride[C];
            conv.y_base += (ptrdiff_t)columns * y->stride[C];
        }
    }
}
