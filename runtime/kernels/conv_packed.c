/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/conv_walk.h"
#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/packed.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };
enum { FEW = 4 }; /* from as many channels on it pays to call a function for them */

/* The part of a call's state that is the same for all pixels. */
struct conv {
    const struct tilewright_conv_packed_attributes *attributes;
    const struct tilewright_view *x;
    uint32_t *words;        /* [tap][pixels / 2] */
    const uint8_t *padding; /* a pixel of padding, its channels side by side */
    int32_t inputs;         /* channels of x in one group */
    int32_t stride;         /* bytes between the channels of a pixel of x */
    int32_t inside;         /* columns of x at which a row of the kernel may begin */
    int32_t pixels;         /* that are computed together next */
    tilewright_pack *pack;
};

/* Positions in x of the first tap of the pixels that are computed together: rows of the whole
 * tensor, and columns counted from the tile's first column. */
struct pixels {
    int32_t row[TILEWRIGHT_PACKED_MOST];
    int32_t column[TILEWRIGHT_PACKED_MOST];
};

/* A pixel of y, and its place. */
struct place {
    int32_t oh, ow;
    uint8_t *to;
};

/* Packs `count` elements of two pixels, which lie side by side in each of them; uint8 elements less
 * 128. */
TILEWRIGHT_INLINE uint32_t *pack(uint32_t *restrict out, const uint8_t *restrict a,
                                 const uint8_t *restrict b, int32_t count,
                                 const int32_t is_unsigned, const int32_t words)
{
    const uint32_t excess = is_unsigned != 0 ? 0x00800080u : 0u;
    for (; count >= 4; count -= 4) {
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < 4; i++) {
            const int32_t first = is_unsigned != 0 ? a[i] : (int8_t)a[i];
            const int32_t second = is_unsigned != 0 ? b[i] : (int8_t)b[i];
            out[words * i] = tilewright_pair(first, second) - excess;
        }
        a += 4;
        b += 4;
        out += 4 * words;
    }
    for (; count > 0; count--) {
        const int32_t first = is_unsigned != 0 ? *a : (int8_t)*a;
        const int32_t second = is_unsigned != 0 ? *b : (int8_t)*b;
        *out = tilewright_pair(first, second) - excess;
        a++;
        b++;
        out += words;
    }
    return out;
}

#define DEFINE_PACK(pixels)                                                                        \
    uint32_t *tilewright_pack_signed_##pixels(uint32_t *out, const uint8_t *a, const uint8_t *b,   \
                                              int32_t count)                                       \
    {                                                                                              \
        return pack(out, a, b, count, 0, pixels / 2);                                              \
    }                                                                                              \
    uint32_t *tilewright_pack_unsigned_##pixels(uint32_t *out, const uint8_t *a, const uint8_t *b, \
                                                int32_t count)                                     \
    {                                                                                              \
        return pack(out, a, b, count, 1, pixels / 2);                                              \
    }

DEFINE_PACK(2)
DEFINE_PACK(4)
DEFINE_PACK(6)

/* Packs the taps of one row of the kernel for two pixels, one after the other. */
static TILEWRIGHT_NOINLINE uint32_t *gather_taps(const struct conv *conv, const uint8_t *const *row,
                                                 const int32_t *column, uint32_t *out)
{
    const struct tilewright_conv_packed_attributes *a = conv->attributes;
    const struct tilewright_shape *shape = conv->x->shape;
    const uint32_t width = (uint32_t)shape->extent[WIDTH];
    const ptrdiff_t step = (ptrdiff_t)a->dilations[1] * shape->stride[WIDTH];
    const uint32_t none = (uint32_t)INT32_MAX; /* beyond any width: all padding */
    const uint32_t from[2] = {row[0] != NULL ? (uint32_t)column[0] : none,
                              row[1] != NULL ? (uint32_t)column[1] : none};
    const uint8_t *at[2] = {row[0] != NULL ? row[0] : conv->padding,
                            row[1] != NULL ? row[1] : conv->padding};
    const int32_t inputs = conv->inputs;
    const int32_t words = (int32_t)((uint32_t)conv->pixels / 2);
    const uint32_t flip = a->is_unsigned != 0 ? 0u : 128u; /* to uint8 */
    uint32_t tap = 0;

    for (int32_t kw = a->kernel[1]; kw > 0; kw--) {
        const uint8_t *first = from[0] + tap < width ? at[0] : conv->padding;
        const uint8_t *second = from[1] + tap < width ? at[1] : conv->padding;
        if (conv->stride == 1 && inputs >= FEW) {
            out = conv->pack(out, first, second, inputs);
        } else {
            const ptrdiff_t step_a = first == conv->padding ? 1 : conv->stride;
            const ptrdiff_t step_b = second == conv->padding ? 1 : conv->stride;
            for (int32_t c = inputs; c > 0; c--) {
                *out = (*first ^ flip) + ((*second ^ flip) << 16) - 0x00800080u;
                out += words;
                first += step_a;
                second += step_b;
            }
        }
        at[0] += step;
        at[1] += step;
        tap += (uint32_t)a->dilations[1];
    }
    return out;
}

/* Packs the taps of the pixels, in a function of its own: stacks are short, and products need
 * theirs later. `offset` is the bytes to their image and group in x. */
static TILEWRIGHT_NOINLINE void gather(const struct conv *conv, const struct pixels *pixels,
                                       ptrdiff_t offset)
{
    const struct tilewright_conv_packed_attributes *a = conv->attributes;
    const struct tilewright_shape *shape = conv->x->shape;
    const int32_t taps = a->kernel[1] * conv->inputs;
    const int32_t words = (int32_t)((uint32_t)conv->pixels / 2);
    const uint32_t inside = (uint32_t)conv->inside;
    uint32_t *out = conv->words;

    for (int32_t kh = 0; kh < a->kernel[0]; kh++) {
        const uint8_t *line = NULL; /* column 0 of the row of x; NULL: padding */
        int32_t row = 0;
        for (int32_t p = 0; p < words; p++) {
            const uint8_t *from[2];
            for (int32_t i = 0; i < 2; i++) {
                if (2 * p + i == 0 || pixels->row[2 * p + i] != row) {
                    row = pixels->row[2 * p + i];
                    const int32_t at = row + kh * a->dilations[0];
                    line = NULL;
                    if ((uint32_t)(at - shape->origin[HEIGHT]) < (uint32_t)shape->extent[HEIGHT]) {
                        line = tilewright_row(conv->x, HEIGHT, at) + offset;
                    }
                }
                from[i] = line == NULL
                              ? line
                              : line + (ptrdiff_t)pixels->column[2 * p + i] * shape->stride[WIDTH];
            }
            const int32_t *const column = &pixels->column[2 * p];
            if (from[0] != NULL && from[1] != NULL && (uint32_t)column[0] < inside &&
                (uint32_t)column[1] < inside) {
                (void)conv->pack(out + p, from[0], from[1], taps);
            } else {
                (void)gather_taps(conv, from, column, out + p);
            }
        }
        out += taps * words;
    }
}

/* Sets the positions in x and the addresses of results of the next pixels. Those behind the last
 * one are that pixel again, which needs no extra code. */
static void advance(const struct conv *conv, const struct tilewright_view *y, ptrdiff_t offset,
                    struct place *place, struct pixels *pixels, uint8_t **to)
{
    const struct tilewright_conv_packed_attributes *a = conv->attributes;
    const struct tilewright_shape *out = y->shape;
    const int32_t left = a->pads[1] + conv->x->shape->origin[WIDTH];
    const int32_t right = out->origin[WIDTH] + out->extent[WIDTH] - 1;
    const int32_t bottom = out->origin[HEIGHT] + out->extent[HEIGHT] - 1;

    for (int32_t i = 0; i < conv->pixels; i++) {
        pixels->row[i] = place->oh * a->strides[0] - a->pads[0];
        pixels->column[i] = place->ow * a->strides[1] - left;
        to[i] = place->to;
        if (place->ow < right) {
            place->ow++;
            place->to += out->stride[WIDTH];
        } else if (place->oh < bottom) {
            place->oh++;
            place->ow = out->origin[WIDTH];
            place->to = tilewright_row(y, HEIGHT, place->oh) + offset;
        }
    }
}

static struct conv prepare(const struct tilewright_conv_packed_attributes *a,
                           const struct tilewright_view *operands)
{
    const struct tilewright_shape *shape = operands[X].shape;
    uint8_t *const padding = operands[SCRATCH].base + a->padding_at;
    struct conv conv = {a,       &operands[X],    (uint32_t *)(void *)operands[SCRATCH].base,
                        padding, a->group_inputs, shape->stride[CHANNEL],
                        0,       a->pixels,       a->pack};
    if (conv.inputs == 1) {
        conv.stride = 1;
    }
    /* Whether the taps of one row of the kernel lie side by side. */
    const int32_t is_dense =
        conv.stride == 1 &&
        (a->kernel[1] == 1 || (a->dilations[1] == 1 && shape->stride[WIDTH] == conv.inputs));
    if (is_dense != 0 && shape->extent[WIDTH] > a->kernel[1] - 1) {
        conv.inside = shape->extent[WIDTH] - (a->kernel[1] - 1);
    }
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
    struct conv conv = prepare(a, operands);
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_view *y = &operands[Y];
    const struct tilewright_shape *out = y->shape;
    /* A tile has some groups with all their channels, or some channels of one group. */
    const int32_t channels = tilewright_smaller(out->extent[CHANNEL], a->group_outputs);
    const int32_t count = out->extent[HEIGHT] * out->extent[WIDTH];
    const int32_t group_bytes =
        a->block_bytes *
        ((a->group_outputs + TILEWRIGHT_PACKED_COLUMNS - 1) / TILEWRIGHT_PACKED_COLUMNS);
    struct tilewright_packed job;

    (void)flags;
    job.words = conv.words;
    job.block_bytes = a->block_bytes;
    job.unit = a->unit;
    job.channels = channels;
    job.channel_stride = out->stride[CHANNEL];
    job.limits = TILEWRIGHT_LIMITS(a);
    job.finish = a->finish;
    job.row_words = a->row_words;
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        struct tilewright_group group = tilewright_first_group(in, out, n);

        job.weights = operands[WEIGHTS].base;
        job.rows = (const int32_t *)(const void *)operands[ROWS].base;
        for (int32_t done = 0; done < out->extent[CHANNEL]; done += channels) {
            const int32_t oh = out->origin[HEIGHT];
            struct place place = {oh, out->origin[WIDTH],
                                  tilewright_row(y, HEIGHT, oh) + group.out};
            tilewright_packed_products *products = a->products;
            conv.pixels = a->pixels;
            conv.pack = a->pack;
            for (int32_t pixel = 0; pixel < count; pixel += conv.pixels) {
                struct pixels pixels;
                if (a->few_products != NULL && count - pixel <= TILEWRIGHT_BLOCK) {
                    conv.pixels = TILEWRIGHT_BLOCK;
                    conv.pack = a->few_pack;
                    products = a->few_products;
                }
                advance(&conv, y, group.out, &place, &pixels, job.pixel);
                gather(&conv, &pixels, group.in);
                products(&job);
            }
            job.weights += group_bytes;
            job.rows += a->group_words;
            tilewright_next_group(&group, in, a->group_inputs, out, channels);
        }
    }
}
