/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/packed.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };
enum { PAIR = 2 };
enum { FEW = 4 }; /* from as many channels on it pays to call a function for them */

/* The part of a call's state that is the same for all pairs of pixels. */
struct conv {
    const struct tilewright_conv_packed_attributes *attributes;
    const struct tilewright_view *x;
    uint32_t *pairs;
    const uint8_t *padding; /* a pixel of padding, its channels side by side */
    int32_t inputs;         /* channels of x in one group */
    int32_t stride;         /* bytes between the channels of a pixel of x */
    int32_t dense;          /* 1: the taps of one row of the kernel lie side by side */
    uint32_t flip;          /* 128 turns int8 elements into uint8, 0 leaves uint8 */
};

/* Positions in x of the first tap of a pair's pixels: rows of the whole tensor, and columns counted
 * from the tile's first column. */
struct pixels {
    int32_t row[PAIR];
    int32_t column[PAIR];
};

/* Packs `count` elements of two pixels, which lie side by side in each of them; uint8 elements less
 * 128. */
TILEWRIGHT_INLINE uint32_t *pack(uint32_t *restrict out, const uint8_t *restrict a,
                                 const uint8_t *restrict b, int32_t count,
                                 const int32_t is_unsigned)
{
    const uint32_t excess = is_unsigned != 0 ? 0x00800080u : 0u;
    for (; count >= 4; count -= 4) {
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < 4; i++) {
            const int32_t first = is_unsigned != 0 ? a[i] : (int8_t)a[i];
            const int32_t second = is_unsigned != 0 ? b[i] : (int8_t)b[i];
            out[i] = tilewright_pair(first, second) - excess;
        }
        a += 4;
        b += 4;
        out += 4;
    }
    for (; count > 0; count--) {
        const int32_t first = is_unsigned != 0 ? *a : (int8_t)*a;
        const int32_t second = is_unsigned != 0 ? *b : (int8_t)*b;
        *out++ = tilewright_pair(first, second) - excess;
        a++;
        b++;
    }
    return out;
}

uint32_t *tilewright_pack_signed(uint32_t *out, const uint8_t *a, const uint8_t *b, int32_t count)
{
    return pack(out, a, b, count, 0);
}

uint32_t *tilewright_pack_unsigned(uint32_t *out, const uint8_t *a, const uint8_t *b, int32_t count)
{
    return pack(out, a, b, count, 1);
}

/* Packs the taps of one row of the kernel, one after the other. */
static TILEWRIGHT_NOINLINE uint32_t *gather_taps(const struct conv *conv, const uint8_t **at,
                                                 const uint32_t *column, uint32_t *out)
{
    const struct tilewright_shape *shape = conv->x->shape;
    const uint32_t width = (uint32_t)shape->extent[WIDTH];
    const ptrdiff_t step = (ptrdiff_t)conv->attributes->dilations[1] * shape->stride[WIDTH];
    const int32_t inputs = conv->inputs;
    const uint32_t flip = conv->flip;
    uint32_t tap = 0;

    for (int32_t kw = conv->attributes->kernel[1]; kw > 0; kw--) {
        const uint8_t *first = column[0] + tap < width ? at[0] : conv->padding;
        const uint8_t *second = column[1] + tap < width ? at[1] : conv->padding;
        if (conv->stride == 1 && inputs >= FEW) {
            out = conv->attributes->pack(out, first, second, inputs);
        } else {
            const ptrdiff_t step_a = first == conv->padding ? 1 : conv->stride;
            const ptrdiff_t step_b = second == conv->padding ? 1 : conv->stride;
            for (int32_t c = inputs; c > 0; c--) {
                *out++ = (*first ^ flip) + ((*second ^ flip) << 16) - 0x00800080u;
                first += step_a;
                second += step_b;
            }
        }
        at[0] += step;
        at[1] += step;
        tap += (uint32_t)conv->attributes->dilations[1];
    }
    return out;
}

/* Packs the taps of two pixels; `offset` is the bytes to their image and group in x. */
static void gather(const struct conv *conv, const struct pixels *pixels, ptrdiff_t offset)
{
    const struct tilewright_conv_packed_attributes *a = conv->attributes;
    const struct tilewright_shape *shape = conv->x->shape;
    const int32_t inside = shape->extent[WIDTH] - (a->kernel[1] - 1) * a->dilations[1];
    const int32_t merge = conv->dense != 0 && (uint32_t)pixels->column[0] < (uint32_t)inside &&
                          (uint32_t)pixels->column[1] < (uint32_t)inside && inside > 0;
    uint32_t *out = conv->pairs;

    for (int32_t kh = 0; kh < a->kernel[0]; kh++) {
        const uint8_t *from[PAIR];
        uint32_t column[PAIR];
        int32_t rows = 0;
        for (int32_t i = 0; i < PAIR; i++) {
            const int32_t row = pixels->row[i] + kh * a->dilations[0];
            column[i] = (uint32_t)INT32_MAX; /* beyond any width: all padding */
            from[i] = conv->padding;
            if ((uint32_t)(row - shape->origin[HEIGHT]) < (uint32_t)shape->extent[HEIGHT]) {
                column[i] = (uint32_t)pixels->column[i];
                from[i] = tilewright_row(conv->x, HEIGHT, row) + offset +
                          (ptrdiff_t)pixels->column[i] * shape->stride[WIDTH];
                rows++;
            }
        }
        out = merge != 0 && rows == PAIR
                  ? a->pack(out, from[0], from[1], a->kernel[1] * conv->inputs)
                  : gather_taps(conv, from, column, out);
    }
}

/* Sets the positions in x and the addresses of results of the tile's next two pixels. A pair that
 * reaches behind the last pixel computes that pixel again, which needs no extra code. */
static void advance(const struct conv *conv, const struct tilewright_view *y, ptrdiff_t offset,
                    int32_t *oh, int32_t *ow, struct pixels *pixels, struct tilewright_sink *sink)
{
    const struct tilewright_conv_packed_attributes *a = conv->attributes;
    const struct tilewright_shape *out = y->shape;

    for (int32_t i = 0; i < PAIR; i++) {
        pixels->row[i] = *oh * a->strides[0] - a->pads[0];
        pixels->column[i] = *ow * a->strides[1] - a->pads[1] - conv->x->shape->origin[WIDTH];
        sink->pixel[i] = tilewright_row(y, HEIGHT, *oh) + offset +
                         (ptrdiff_t)(*ow - out->origin[WIDTH]) * out->stride[WIDTH];
        tilewright_next_pixel(out, oh, ow);
    }
}

static struct conv prepare(const struct tilewright_conv_packed_attributes *a,
                           const struct tilewright_view *operands)
{
    const struct tilewright_shape *shape = operands[X].shape;
    uint8_t *const padding = operands[SCRATCH].base + a->padding_at;
    struct conv conv = {a,
                        &operands[X],
                        (uint32_t *)(void *)operands[SCRATCH].base,
                        padding,
                        a->group_inputs,
                        shape->stride[CHANNEL],
                        0,
                        a->is_unsigned != 0 ? 0u : 128u};
    if (conv.inputs == 1) {
        conv.stride = 1;
    }
    conv.dense =
        conv.stride == 1 &&
        (a->kernel[1] == 1 || (a->dilations[1] == 1 && shape->stride[WIDTH] == conv.inputs));
    if (a->is_padded != 0) {
        for (int32_t i = 0; i < conv.inputs; i++) {
            padding[i] = (uint8_t)a->padding;
        }
    }
    return conv;
}

void tilewright_conv_packed(const struct tilewright_conv_packed_attributes *a,
                            const struct tilewright_view *operands, uint32_t flags)
{
    const struct conv conv = prepare(a, operands);
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_view *y = &operands[Y];
    const struct tilewright_shape *out = y->shape;
    /* A tile has some groups with all their channels, or some channels of one group. */
    const int32_t channels = tilewright_smaller(out->extent[CHANNEL], a->group_outputs);
    const int32_t padded = (channels + TILEWRIGHT_BLOCK - 1) / TILEWRIGHT_BLOCK * TILEWRIGHT_BLOCK;
    const int32_t count = out->extent[HEIGHT] * out->extent[WIDTH];
    struct tilewright_sink sink;

    (void)flags;
    sink.channel_stride = out->stride[CHANNEL];
    sink.pixels = 1;
    sink.row_words = a->row_words;
    sink.longer = a->longer;
    sink.limits = TILEWRIGHT_LIMITS(a);
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        const uint8_t *weights = operands[WEIGHTS].base;
        const int32_t *rows = (const int32_t *)(const void *)operands[ROWS].base;
        ptrdiff_t offset_in = (ptrdiff_t)n * in->stride[BATCH];
        ptrdiff_t offset_out = (ptrdiff_t)n * out->stride[BATCH];

        for (int32_t done = 0; done < out->extent[CHANNEL]; done += channels) {
            int32_t row = out->origin[HEIGHT];
            int32_t column = out->origin[WIDTH];
            for (int32_t pixel = 0; pixel < count; pixel += PAIR) {
                struct pixels pixels;
                advance(&conv, y, offset_out, &row, &column, &pixels, &sink);
                gather(&conv, &pixels, offset_in);
                a->products(&sink, (const uint8_t *)conv.pairs, a->taps, weights, rows, channels,
                            a->finish);
            }
            weights += (ptrdiff_t)padded * a->taps;
            rows += (ptrdiff_t)padded * a->row_words;
            offset_in += (ptrdiff_t)a->group_inputs * in->stride[CHANNEL];
            offset_out += (ptrdiff_t)channels * out->stride[CHANNEL];
        }
    }
}
