/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/conv_walk.h"
#include "tilewright/kernels/integer_core.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH, PARTIAL };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* The part of a call's state that is the same for all blocks. */
struct conv {
    const struct tilewright_conv_integer_attributes *attributes;
    const struct tilewright_view *x;
    uint8_t *columns;
    uint8_t *padding_row;
    int32_t inputs;   /* channels of x in one group, or in the tile if the reduction is cut */
    int32_t adjacent; /* 1: the channels of x lie side by side */
    int32_t dense;    /* 1: so do the taps of one row of the kernel */
};

/* Positions in x of the first tap of a block's four pixels: rows of the whole tensor, and columns
 * counted from the tile's first column. */
struct pixels {
    int32_t row[TILEWRIGHT_BLOCK];
    int32_t column[TILEWRIGHT_BLOCK];
    int32_t within; /* 1: all taps lie within the width of the tile */
};

/* The current tap of one pixel, in a row of x. */
struct tap {
    const uint8_t *at;
    uint32_t column; /* counted from the tile's first column; beyond its width: padding */
};

/* Channels that do not lie side by side are copied pixel by pixel, because a pixel of padding has
 * its channels side by side. */
static TILEWRIGHT_NOINLINE uint8_t *interleave_apart(uint8_t *out, const uint8_t *const *runs,
                                                     const struct conv *conv)
{
    const int32_t count = conv->inputs;
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        const uint8_t *from = runs[i];
        const int32_t stride = from == conv->padding_row ? 0 : conv->x->shape->stride[CHANNEL];
        for (int32_t c = 0; c < count; c++) {
            out[TILEWRIGHT_BLOCK * c + i] = *from;
            from += stride;
        }
    }
    return out + TILEWRIGHT_BLOCK * count;
}

/* Copies the taps of one row of the kernel, one after the other. */
static TILEWRIGHT_NOINLINE uint8_t *gather_taps(const struct conv *conv, struct tap *taps,
                                                uint8_t *out)
{
    const struct tilewright_shape *shape = conv->x->shape;
    const int32_t dilation = conv->attributes->dilations[1];
    const ptrdiff_t step = (ptrdiff_t)dilation * shape->stride[WIDTH];
    const uint32_t width = (uint32_t)shape->extent[WIDTH];
    const int32_t inputs = conv->inputs;

    for (int32_t kw = conv->attributes->kernel[1]; kw > 0; kw--) {
        const uint8_t *runs[TILEWRIGHT_BLOCK];
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
            runs[i] = taps[i].column < width ? taps[i].at : conv->padding_row;
            taps[i].column += (uint32_t)dilation;
            taps[i].at += step;
        }
        if (inputs == 1) {
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
                out[i] = *runs[i];
            }
            out += TILEWRIGHT_BLOCK;
        } else {
            out = conv->adjacent ? tilewright_interleave(out, runs, inputs, 1)
                                 : interleave_apart(out, runs, conv);
        }
    }
    return out;
}

/* Copies the taps of four pixels as columns[tap][pixel]; `offset` is the bytes to their image and
 * group in x. */
static TILEWRIGHT_NOINLINE void gather(const struct conv *conv, const struct pixels *pixels,
                                       ptrdiff_t offset)
{
    const struct tilewright_conv_integer_attributes *a = conv->attributes;
    const struct tilewright_shape *shape = conv->x->shape;
    const int32_t merge = conv->dense && pixels->within;
    uint8_t *out = conv->columns;

    for (int32_t kh = 0; kh < a->kernel[0]; kh++) {
        struct tap taps[TILEWRIGHT_BLOCK];
        const uint8_t *runs[TILEWRIGHT_BLOCK];
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
            const int32_t row = pixels->row[i] + kh * a->dilations[0];
            taps[i].column = (uint32_t)pixels->column[i];
            runs[i] = conv->padding_row;
            if ((uint32_t)(row - shape->origin[HEIGHT]) < (uint32_t)shape->extent[HEIGHT]) {
                runs[i] = tilewright_row(conv->x, HEIGHT, row) + offset +
                          (ptrdiff_t)pixels->column[i] * shape->stride[WIDTH];
            } else {
                taps[i].column = (uint32_t)INT32_MAX; /* beyond any width: all padding */
            }
            taps[i].at = runs[i];
        }
        out = merge ? tilewright_interleave(out, runs, a->kernel[1] * conv->inputs, 1)
                    : gather_taps(conv, taps, out);
    }
    if (a->is_unsigned != 0) {
        tilewright_flip(conv->columns, (int32_t)(out - conv->columns));
    }
}

/* Sets the positions in x and the addresses of results of the tile's next four pixels. A block that
 * reaches behind the last pixel computes that pixel again, which needs no extra code. */
static TILEWRIGHT_NOINLINE void advance(const struct conv *conv, const struct tilewright_view *y,
                                        ptrdiff_t offset, int32_t *oh, int32_t *ow,
                                        struct pixels *pixels, struct tilewright_sink *sink)
{
    const struct tilewright_conv_integer_attributes *a = conv->attributes;
    const struct tilewright_shape *in = conv->x->shape;
    const struct tilewright_shape *out = y->shape;
    const int32_t reach = (a->kernel[1] - 1) * a->dilations[1];

    pixels->within = 1;
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        const int32_t column = *ow * a->strides[1] - a->pads[1] - in->origin[WIDTH];
        pixels->row[i] = *oh * a->strides[0] - a->pads[0];
        pixels->column[i] = column;
        if (column < 0 || column + reach >= in->extent[WIDTH]) {
            pixels->within = 0;
        }
        sink->pixel[i] = tilewright_row(y, HEIGHT, *oh) + offset +
                         (ptrdiff_t)(*ow - out->origin[WIDTH]) * out->stride[WIDTH];
        tilewright_next_pixel(out, oh, ow);
    }
}

static struct conv prepare(const struct tilewright_conv_integer_attributes *a,
                           const struct tilewright_view *operands)
{
    const struct tilewright_shape *shape = operands[X].shape;
    /* A tile of x has whole groups, or some channels of the only group. */
    const int32_t inputs = tilewright_smaller(shape->extent[CHANNEL], a->group_inputs);
    struct conv conv = {a, &operands[X], operands[SCRATCH].base, operands[SCRATCH].base, inputs, 0,
                        0};
    conv.padding_row += a->padding_row_at;
    conv.adjacent = inputs == 1 || shape->stride[CHANNEL] == 1;
    conv.dense = conv.adjacent &&
                 (a->kernel[1] == 1 || (shape->stride[WIDTH] == inputs && a->dilations[1] == 1));
    for (int32_t i = 0; i < a->kernel[1] * inputs; i++) {
        conv.padding_row[i] = (uint8_t)a->padding;
    }
    return conv;
}

void tilewright_conv_integer(const struct tilewright_conv_integer_attributes *a,
                             const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_rule *const rule = a->rule;
    tilewright_block_products *const products = a->core->products;
    tilewright_block_products *const few = flags == TILEWRIGHT_WHOLE ? a->core->few : NULL;
    const struct conv conv = prepare(a, operands);
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_view *y = &operands[Y];
    const struct tilewright_shape *out = y->shape;
    const int32_t taps = a->kernel[0] * a->kernel[1] * conv.inputs;
    /* A tile has some groups with all their channels, or some channels of one group. */
    const int32_t channels = tilewright_smaller(out->extent[CHANNEL], a->group_outputs);
    const int32_t padded = (channels + TILEWRIGHT_BLOCK - 1) / TILEWRIGHT_BLOCK * TILEWRIGHT_BLOCK;
    const int32_t count = out->extent[HEIGHT] * out->extent[WIDTH];
    tilewright_block_finish *const finish = (flags & TILEWRIGHT_LAST) != 0 ? rule->finish : NULL;
    struct tilewright_sink sink;

    tilewright_open(&sink, rule, out->stride[CHANNEL], TILEWRIGHT_BLOCK, &operands[PARTIAL], flags);
    sink.limits = TILEWRIGHT_LIMITS(a);
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        const uint8_t *weights = operands[WEIGHTS].base;
        const int32_t *rows = (const int32_t *)(const void *)operands[ROWS].base;
        struct tilewright_group group = tilewright_first_group(in, out, n);

        for (int32_t done = 0; done < out->extent[CHANNEL]; done += channels) {
            int32_t row = out->origin[HEIGHT];
            int32_t column = out->origin[WIDTH];
            for (int32_t pixel = 0; pixel < count; pixel += TILEWRIGHT_BLOCK) {
                /* The pixels use the memory of the block's sums, which are not in use yet: stacks
                 * are short. */
                struct pixels *const pixels = (struct pixels *)(void *)sink.block;
                advance(&conv, y, group.out, &row, &column, pixels, &sink);
                gather(&conv, pixels, group.in);
                if (count - pixel > 2 || few == NULL) {
                    products(&sink, conv.columns, taps, weights, rows, channels, finish);
                } else {
                    sink.pixels = count - pixel;
                    few(&sink, conv.columns, taps, weights, rows, channels, finish);
                    sink.pixels = TILEWRIGHT_BLOCK;
                }
            }
            weights += (ptrdiff_t)padded * taps * a->core->weight_bytes;
            rows += (ptrdiff_t)padded * rule->row_words;
            tilewright_next_group(&group, in, a->group_inputs, out, channels);
        }
    }
}
