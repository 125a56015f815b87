/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/conv_xpulpv2.h"

#include "tilewright/kernels/xpulpv2_core.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH, PARTIAL };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* One call. Attributes and shapes may lie in slow memory, so what loops need is copied here. */
struct conv {
    const struct tilewright_view *x;
    int32_t kernel[2], strides[2], dilations[2];
    int32_t first_row, first_column; /* of x, for row and column 0 of y; columns from the tile's */
    int32_t x_row, x_rows, x_columns;
    int32_t x_stride, x_channel_stride;
    int32_t y_columns, y_last_row;
    int32_t y_stride;
    int32_t inputs;       /* channels of x in one group, or those of a cut reduction */
    int32_t is_planar;    /* words are of columns: [c][kh][kw], each row in whole words */
    int32_t is_direct;    /* words lie in x as a core reads them */
    int32_t is_dense;     /* and so do rows of the kernel */
    int32_t run_bytes;    /* of one row of the kernel, in whole words where it is planar */
    int32_t slot_bytes;   /* copied taps of a pixel */
    uint8_t *slots;       /* copied taps of four pixels */
    uint8_t *padding_row; /* what a row of the kernel sees beyond x */
    struct tilewright_xpulpv2_run *runs; /* one for each tap at most */
    const uint8_t **x_rows_at;           /* rows of x for those of the kernel; NULL: beyond x */
};

/* The next pixel of y to compute. */
struct place {
    int32_t row, column;
    uint8_t *at;
    ptrdiff_t offset_in, offset_out; /* to the image and group */
};

static void copy_words(uint8_t *to, const uint8_t *from, int32_t bytes)
{
    for (; bytes > 0; bytes -= 4) {
        *(uint32_t *)(void *)to = tilewright_xpulpv2_word(from);
        to += 4;
        from += 4;
    }
}

static void copy_bytes(uint8_t *restrict to, const uint8_t *restrict from, int32_t stride,
                       int32_t count)
{
    for (; count > 0; count--) {
        *to++ = *from;
        from += stride;
    }
}

/* All taps of a pixel, side by side as [kh][kw][c]. */
static TILEWRIGHT_NOINLINE void copy_taps(const struct conv *conv, uint8_t *slot, int32_t column)
{
    const int32_t inputs = conv->inputs;
    const int32_t columns = conv->x_columns;
    const int32_t is_words = inputs % 4 == 0 && conv->x_channel_stride == 1;
    for (int32_t kh = 0; kh < conv->kernel[0]; kh++) {
        const uint8_t *row = conv->x_rows_at[kh];
        int32_t at = column;
        for (int32_t kw = 0; kw < conv->kernel[1]; kw++) {
            const int is_inside = row != NULL && (uint32_t)at < (uint32_t)columns;
            const uint8_t *from =
                is_inside ? row + (ptrdiff_t)at * conv->x_stride : conv->padding_row;
            if (is_words) {
                copy_words(slot, from, inputs);
            } else {
                copy_bytes(slot, from, is_inside ? conv->x_channel_stride : 1, inputs);
            }
            slot += inputs;
            at += conv->dilations[1];
        }
    }
}

/* All taps of a pixel as [c][kh][kw], rows of the kernel in whole words. Taps between the kernel's
 * width and the word meet weights of zero; they are read where x has them. */
static TILEWRIGHT_NOINLINE void copy_planes(const struct conv *conv, uint8_t *slot, int32_t column)
{
    const int32_t row_bytes = conv->run_bytes;
    const int is_within = column >= 0 && column + row_bytes <= conv->x_columns;
    for (int32_t c = 0; c < conv->inputs; c++) {
        const ptrdiff_t offset = (ptrdiff_t)c * conv->x_channel_stride + column;
        for (int32_t kh = 0; kh < conv->kernel[0]; kh++) {
            const uint8_t *row = conv->x_rows_at[kh];
            if (row == NULL) {
                copy_words(slot, conv->padding_row, row_bytes);
            } else if (is_within) {
                copy_words(slot, row + offset, row_bytes);
            } else {
                for (int32_t kw = 0; kw < row_bytes; kw++) {
                    const int is_inside = (uint32_t)(column + kw) < (uint32_t)conv->x_columns;
                    slot[kw] = is_inside ? row[offset + kw] : conv->padding_row[0];
                }
            }
            slot += row_bytes;
        }
    }
}

/* Where rows of the kernel begin for a row of y. */
static TILEWRIGHT_NOINLINE void find_rows(const struct conv *conv, const struct place *place)
{
    int32_t from = place->row * conv->strides[0] + conv->first_row;
    for (int32_t kh = 0; kh < conv->kernel[0]; kh++) {
        const int is_inside = (uint32_t)(from - conv->x_row) < (uint32_t)conv->x_rows;
        conv->x_rows_at[kh] =
            is_inside ? tilewright_row(conv->x, HEIGHT, from) + place->offset_in : NULL;
        from += conv->dilations[0];
    }
}

/* The runs of pixel i of four: one for each tap where it lies in x or is padding, or all of them
 * copied. */
static TILEWRIGHT_NOINLINE void point(const struct conv *conv, int32_t i, int32_t column)
{
    struct tilewright_xpulpv2_run *run = conv->runs;
    if (conv->is_direct == 0) {
        uint8_t *slot = conv->slots + i * conv->slot_bytes;
        (conv->is_planar != 0 ? copy_planes : copy_taps)(conv, slot, column);
        run->pixel[i] = slot;
        return;
    }
    for (int32_t kh = 0; kh < conv->kernel[0]; kh++) {
        const uint8_t *row = conv->x_rows_at[kh];
        int32_t at = column;
        for (int32_t kw = conv->kernel[1]; kw > 0; kw--) {
            const int is_inside = row != NULL && (uint32_t)at < (uint32_t)conv->x_columns;
            run->pixel[i] = is_inside ? row + (ptrdiff_t)at * conv->x_stride : conv->padding_row;
            at += conv->dilations[1];
            run++;
        }
    }
}

/* How the core reads what `advance` found: runs of rows of the kernel, of taps, or one of copies.
 */
static void set_runs(const struct conv *conv, struct tilewright_xpulpv2_job *job, int is_rows)
{
    int32_t runs = 1;
    int32_t bytes = conv->slot_bytes;
    if (conv->is_direct != 0) {
        runs = is_rows ? conv->kernel[0] : conv->kernel[0] * conv->kernel[1];
        bytes = is_rows ? conv->run_bytes : conv->inputs;
    }
    job->runs_end = job->runs + runs;
    job->run_words = bytes / 4;
}

static void next_row(const struct conv *conv, const struct tilewright_view *y, struct place *place)
{
    place->row++;
    place->column = 0;
    place->at = tilewright_row(y, HEIGHT, place->row) + place->offset_out;
    find_rows(conv, place);
}

/* Four pixels of one row whose taps all lie in x. */
static void point_four(const struct conv *conv, int32_t column)
{
    const ptrdiff_t offset = (ptrdiff_t)column * conv->x_stride;
    const int32_t across = conv->strides[1] * conv->x_stride;
    struct tilewright_xpulpv2_run *run = conv->runs;
    const uint8_t **row = conv->x_rows_at;
    for (int32_t kh = conv->kernel[0]; kh > 0; kh--) {
        const int is_inside = *row != NULL;
        const uint8_t *at = is_inside ? *row + offset : conv->padding_row;
        const int32_t step = is_inside ? across : 0;
        run->pixel[0] = at;
        run->pixel[1] = at += step;
        run->pixel[2] = at += step;
        run->pixel[3] = at + step;
        run->step = (uintptr_t)(TILEWRIGHT_BLOCK * step);
        run++;
        row++;
    }
}

/* copy_planes for four pixels of one row whose words all lie in x, rows of the kernel being one
 * word. */
static void copy_four(const struct conv *conv, int32_t column)
{
    const int32_t across = conv->strides[1];
    const int32_t slot_bytes = conv->slot_bytes;
    uint8_t *slot = conv->slots;
    for (int32_t c = 0; c < conv->inputs; c++) {
        const ptrdiff_t offset = (ptrdiff_t)c * conv->x_channel_stride + column;
        const uint8_t **row = conv->x_rows_at;
        for (int32_t kh = conv->kernel[0]; kh > 0; kh--) {
            const int is_inside = *row != NULL;
            const uint8_t *at = is_inside ? *row + offset : conv->padding_row;
            const int32_t step = is_inside ? across : 0;
            uint8_t *to = slot;
            for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
                *(uint32_t *)(void *)to = tilewright_xpulpv2_word(at);
                at += step;
                to += slot_bytes;
            }
            slot += 4;
            row++;
        }
    }
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        conv->runs->pixel[i] = conv->slots + i * slot_bytes;
    }
}

/* Runs and results of the next pixels of the tile; returns how many fours of them: up to `most`
 * where their taps all lie in x as a core reads them, else one. Behind the last pixel it is
 * repeated, which costs no extra code. */
static int32_t advance(const struct conv *conv, const struct tilewright_view *y, int32_t most,
                       struct place *place, struct tilewright_xpulpv2_job *job)
{
    uint8_t **const pixel = job->pixel;
    const int32_t across = conv->strides[1];
    const int32_t column = place->column * across + conv->first_column;
    const int is_words = conv->is_planar != 0 && conv->run_bytes == 4;
    const int32_t reach = is_words ? 3 : (conv->kernel[1] - 1) * conv->dilations[1];
    const int32_t room = conv->x_columns - column - reach - 3 * across;
    int32_t fours = (conv->y_columns - place->column) / TILEWRIGHT_BLOCK;

    const int is_rows = (is_words || conv->is_dense != 0) && fours > 0 && column >= 0 && room > 0;
    set_runs(conv, job, is_rows);
    if (is_rows) {
        if (is_words) {
            copy_four(conv, column);
            fours = 1;
        } else {
            const int32_t within = (room - 1) / (TILEWRIGHT_BLOCK * across) + 1;
            point_four(conv, column);
            fours = fours < within ? fours : within;
            fours = fours < most ? fours : most;
        }
        uint8_t *at = place->at;
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
            pixel[i] = at;
            at += conv->y_stride;
        }
        place->at += (ptrdiff_t)fours * TILEWRIGHT_BLOCK * conv->y_stride;
        place->column += fours * TILEWRIGHT_BLOCK;
        if (place->column == conv->y_columns && place->row < conv->y_last_row) {
            next_row(conv, y, place);
        }
        return fours;
    }
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        point(conv, i, place->column * across + conv->first_column);
        pixel[i] = place->at;
        if (place->column + 1 < conv->y_columns) {
            place->column++;
            place->at += conv->y_stride;
        } else if (place->row < conv->y_last_row) {
            next_row(conv, y, place);
        }
    }
    return 1;
}

/* Rows of 1x1 convolutions become one where they follow each other in memory. */
static void flatten(struct conv *conv, const struct tilewright_shape *in,
                    const struct tilewright_shape *out)
{
    const int32_t rows = out->extent[HEIGHT];
    const int is_pointwise = conv->kernel[0] == 1 && conv->kernel[1] == 1 &&
                             conv->strides[0] == 1 && conv->strides[1] == 1;
    const int is_same = conv->x_rows == rows && conv->x_columns == conv->y_columns &&
                        conv->first_column == 0 && conv->first_row == 0;
    const int is_packed = in->stride[HEIGHT] == conv->x_columns * conv->x_stride &&
                          out->stride[HEIGHT] == conv->y_columns * conv->y_stride;
    const int is_ring = in->ring_rows != 0 || out->ring_rows != 0;
    if (rows > 1 && is_pointwise && is_same && is_packed && !is_ring) {
        conv->x_columns *= rows;
        conv->y_columns *= rows;
        conv->y_last_row = out->origin[HEIGHT];
    }
}

static void prepare(struct conv *conv, const struct tilewright_conv_xpulpv2_attributes *a,
                    const struct tilewright_view *operands)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    conv->x = &operands[X];
    for (int32_t i = 0; i < 2; i++) {
        conv->kernel[i] = a->kernel[i];
        conv->strides[i] = a->strides[i];
        conv->dilations[i] = a->dilations[i];
    }
    conv->x_row = in->origin[HEIGHT];
    conv->x_rows = in->extent[HEIGHT];
    conv->x_columns = in->extent[WIDTH];
    conv->x_stride = in->stride[WIDTH];
    conv->x_channel_stride = in->stride[CHANNEL];
    conv->y_columns = out->extent[WIDTH];
    conv->y_last_row = out->origin[HEIGHT] + out->extent[HEIGHT] - 1;
    conv->y_stride = out->stride[WIDTH];
    conv->first_row = -a->pads[0];
    conv->first_column = out->origin[WIDTH] * a->strides[1] - a->pads[1] - in->origin[WIDTH];
    /* A tile of x has whole groups, or some channels of the only one. */
    const int32_t held = in->extent[CHANNEL];
    const int32_t inputs = held < a->group_inputs ? held : a->group_inputs;
    const int32_t columns = conv->kernel[1];
    conv->inputs = inputs;
    conv->is_planar = a->is_planar;
    conv->is_direct = a->is_direct;
    conv->is_dense = conv->is_direct != 0 &&
                     (columns == 1 || (conv->x_stride == inputs && conv->dilations[1] == 1));
    conv->run_bytes = conv->is_planar != 0 ? (columns + 3) / 4 * 4 : columns * inputs;
    const int32_t rows = conv->is_planar != 0 ? conv->kernel[0] * inputs : conv->kernel[0];
    conv->slot_bytes = (rows * conv->run_bytes + 3) / 4 * 4;
    conv->runs = (struct tilewright_xpulpv2_run *)(void *)operands[SCRATCH].base;
    const int32_t runs = conv->is_direct != 0 ? conv->kernel[0] * columns : 1;
    conv->x_rows_at = (const uint8_t **)(void *)(conv->runs + runs);
    conv->padding_row = (uint8_t *)(void *)(conv->x_rows_at + conv->kernel[0]);
    const int32_t pads_rows = conv->is_direct != 0 || conv->is_planar != 0;
    conv->slots = conv->padding_row + (pads_rows ? conv->run_bytes : (inputs + 3) / 4 * 4);
    const uint8_t padding = (uint8_t)a->padding;
    for (uint8_t *at = conv->padding_row; at != conv->slots; at++) {
        *at = padding;
    }
    /* Bytes behind a copied pixel meet weights of zero, but should not be read unwritten. */
    for (int32_t i = 0; conv->is_direct == 0 && i < TILEWRIGHT_BLOCK; i++) {
        *(uint32_t *)(void *)(conv->slots + (i + 1) * conv->slot_bytes - 4) = 0;
    }
    flatten(conv, in, out);
}

static TILEWRIGHT_NOINLINE void run(const struct tilewright_conv_xpulpv2_attributes *a,
                                    const struct tilewright_view *operands, uint32_t flags,
                                    const struct tilewright_xpulpv2_rule *rule)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_view *y = &operands[Y];
    const struct tilewright_shape *out = y->shape;
    struct conv conv;
    prepare(&conv, a, operands);
    /* A tile has some groups with all their channels, or some channels of one group. */
    const int32_t group_inputs = a->group_inputs;
    const int32_t is_unsigned = a->is_unsigned;
    const int32_t held = out->extent[CHANNEL];
    const int32_t channels = held < a->group_outputs ? held : a->group_outputs;
    const int32_t padded = (channels + TILEWRIGHT_BLOCK - 1) / TILEWRIGHT_BLOCK * TILEWRIGHT_BLOCK;
    const int32_t count = out->extent[HEIGHT] * out->extent[WIDTH];
    const int32_t most = tilewright_xpulpv2_finishes(rule, channels, flags) ? count : 1;
    struct tilewright_sink sink;
    struct tilewright_xpulpv2_job job;

    tilewright_open(&sink, rule->rule, out->stride[CHANNEL], TILEWRIGHT_BLOCK, &operands[PARTIAL],
                    flags);
    sink.limits = TILEWRIGHT_LIMITS(a);
    tilewright_xpulpv2_open(&job, &sink, conv.runs);
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        const uint8_t *weights = operands[WEIGHTS].base;
        const int32_t *rows = (const int32_t *)(const void *)operands[ROWS].base;
        struct place place = {0, 0, NULL, (ptrdiff_t)n * in->stride[BATCH],
                              (ptrdiff_t)n * out->stride[BATCH]};

        for (int32_t done = 0; done < held; done += channels) {
            place.row = out->origin[HEIGHT] - 1;
            next_row(&conv, y, &place);
            for (int32_t pixel = 0; pixel < count;) {
                const int32_t fours = advance(&conv, y, most, &place, &job);
                job.weights = weights;
                tilewright_xpulpv2_core(&sink, &job, is_unsigned, rows, channels, rule, flags,
                                        fours, conv.y_stride);
                pixel += fours * TILEWRIGHT_BLOCK;
            }
            weights += (ptrdiff_t)padded * conv.slot_bytes;
            rows += (ptrdiff_t)padded * rule->rule->row_words;
            place.offset_in += (ptrdiff_t)group_inputs * in->stride[CHANNEL];
            place.offset_out += (ptrdiff_t)channels * out->stride[CHANNEL];
        }
    }
}

#define TILEWRIGHT_DEFINE_CONV(name)                                                               \
    void tilewright_conv_xpulpv2_##name(                                                           \
        const struct tilewright_conv_xpulpv2_attributes *attributes,                               \
        const struct tilewright_view *operands, uint32_t flags)                                    \
    {                                                                                              \
        run(attributes, operands, flags, &tilewright_xpulpv2_rule_##name);                         \
    }

TILEWRIGHT_DEFINE_CONV(none)
TILEWRIGHT_DEFINE_CONV(folded)
TILEWRIGHT_DEFINE_CONV(high)
TILEWRIGHT_DEFINE_CONV(layer)
TILEWRIGHT_DEFINE_CONV(long)
TILEWRIGHT_DEFINE_CONV(even)
TILEWRIGHT_DEFINE_CONV(layer_even)
TILEWRIGHT_DEFINE_CONV(exact)
TILEWRIGHT_DEFINE_CONV(rescale)
