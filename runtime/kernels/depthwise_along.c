/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/depthwise_along.h"
#include "tilewright/kernels/integer_rules.h"
#include "tilewright/kernels/move_row.h"

enum { X, WEIGHTS, ROWS, Y, PARTIAL };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };
enum { SIDE = TILEWRIGHT_ALONG_SIDE, TAPS = SIDE * SIDE, BOTTOM = SIDE - 1, KEPT = SIDE - 1 };

/* The weights of a channel, row by row, and its first sum. */
struct taps {
    int32_t w[TAPS];
    int32_t bias;
};

/* Where the walk is in three rows of x, one below the other. */
struct places {
    const int8_t *top, *middle, *bottom;
};

/* Elements of a column of x. */
struct column {
    int32_t top, middle, bottom;
};

TILEWRIGHT_INLINE struct column next(struct places *places, int32_t across)
{
    const struct column column = {*places->top, *places->middle, *places->bottom};
    places->top += across;
    places->middle += across;
    places->bottom += across;
    return column;
}

/* A sum with a column of x times column `j` of the weights. */
TILEWRIGHT_INLINE int32_t dot(int32_t sum, struct column x, const struct taps *taps,
                              const int32_t j)
{
    const int32_t *const w = taps->w;
    return sum + x.top * w[j] + x.middle * w[SIDE + j] + x.bottom * w[2 * SIDE + j];
}

/* A sum with a column of padding times column `j` of the weights. */
TILEWRIGHT_INLINE int32_t beside(int32_t sum, int32_t padding, const struct taps *taps,
                                 const int32_t j)
{
    const int32_t *const w = taps->w;
    return sum + padding * (w[j] + w[SIDE + j] + w[2 * SIDE + j]);
}

/* Turns a row of weights over padding into a part of the first sum. */
TILEWRIGHT_INLINE void leave_out(struct taps *taps, int32_t padding, const int32_t i)
{
    int32_t *const w = taps->w + SIDE * i;
    taps->bias += padding * (w[0] + w[1] + w[2]);
    w[0] = w[1] = w[2] = 0;
}

TILEWRIGHT_INLINE struct taps taps_of(const struct tilewright_depthwise_walk *walk, const int8_t *w,
                                      int32_t bias)
{
    struct taps taps = {{w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]}, bias};
    if (walk->missing != 0) {
        if ((walk->missing & 1) != 0) {
            leave_out(&taps, walk->padding, 0);
        }
        if ((walk->missing & 1 << BOTTOM) != 0) {
            leave_out(&taps, walk->padding, BOTTOM);
        }
    }
    return taps;
}

/* One channel of a row of y. A column of x is loaded once, for all sums that need it: with windows
 * one column apart the one that it completes, the next one, and the one that it begins. */
TILEWRIGHT_INLINE void channel(const struct tilewright_depthwise_walk *walk,
                               const struct tilewright_depthwise_row *row, int32_t at,
                               const struct taps *taps,
                               const struct tilewright_constants *constants,
                               const struct tilewright_limits *limits, const int32_t step,
                               const enum tilewright_rule_kind rule)
{
    struct places places = {row->x[0] + at, row->x[1] + at, row->x[2] + at};
    const int32_t across = walk->across, out_across = walk->out_across;
    uint8_t *restrict out = row->out + at;
    const uint8_t *const end = out + walk->inner;
    int32_t sum = 0;
    int32_t begun = walk->no_left != 0 ? beside(taps->bias, walk->padding, taps, 0)
                                       : dot(taps->bias, next(&places, across), taps, 0);

    if (step == 1) {
        const struct column x = next(&places, across);
        sum = dot(begun, x, taps, 1);
        begun = dot(taps->bias, x, taps, 0);
    }
    do {
        if (step == 2) {
            sum = dot(begun, next(&places, across), taps, 1);
        }
        const struct column x = next(&places, across);
        tilewright_store_sum(out, dot(sum, x, taps, 2), *constants, limits, rule);
        out += out_across;
        if (step == 1) {
            sum = dot(begun, x, taps, 1);
        }
        begun = dot(taps->bias, x, taps, 0);
    } while (out != end);
    if (walk->no_right != 0) {
        if (step == 2) {
            sum = dot(begun, next(&places, across), taps, 1);
        }
        sum = beside(sum, walk->padding, taps, 2);
        tilewright_store_sum(out, sum, *constants, limits, rule);
    }
}

TILEWRIGHT_INLINE void channels(const struct tilewright_depthwise_walk *walk, const int32_t step,
                                const int32_t row_words, const enum tilewright_rule_kind rule)
{
    const struct tilewright_limits limits = walk->limits;
    const int8_t *w = walk->weights;
    const int32_t *of_rule = walk->constants;
    for (int32_t c = 0; c < walk->channels; c++) {
        const struct tilewright_constants constants =
            tilewright_constants_of(of_rule, &limits, rule);
        const struct taps taps = taps_of(walk, w, rule != TILEWRIGHT_RULE_FOLDED ? of_rule[0] : 0);
        const struct tilewright_depthwise_row *row = walk->row;
        const struct tilewright_depthwise_row *const end = row + walk->count;
        do {
            channel(walk, row, c, &taps, &constants, &limits, step, rule);
            row++;
        } while (row != end);
        w += TAPS;
        of_rule += row_words;
    }
}

#define TILEWRIGHT_DEFINE_ALONG(name, words, rule)                                                 \
    void tilewright_along_1_##name(const struct tilewright_depthwise_walk *walk)                   \
    {                                                                                              \
        channels(walk, 1, words, rule);                                                            \
    }                                                                                              \
    void tilewright_along_2_##name(const struct tilewright_depthwise_walk *walk)                   \
    {                                                                                              \
        channels(walk, 2, words, rule);                                                            \
    }

TILEWRIGHT_DEFINE_ALONG(folded, TILEWRIGHT_WORDS_FOLDED, TILEWRIGHT_RULE_FOLDED)
TILEWRIGHT_DEFINE_ALONG(layer, TILEWRIGHT_WORDS_LAYER, TILEWRIGHT_RULE_LAYER)
TILEWRIGHT_DEFINE_ALONG(high, TILEWRIGHT_WORDS_HIGH, TILEWRIGHT_RULE_HIGH)

/* Where a kept row lies. */
static uint8_t *kept_row(const struct tilewright_depthwise_along_attributes *a,
                         const struct tilewright_view *operands, int32_t row)
{
    return operands[PARTIAL].base + (ptrdiff_t)(row % KEPT) * a->kept_bytes;
}

/* The first pixel of a row of x that a call before has kept or that this call gets; NULL: padding.
 */
static const uint8_t *row_of(const struct tilewright_depthwise_along_attributes *a,
                             const struct tilewright_view *operands, int32_t n, int32_t row)
{
    const struct tilewright_shape *in = operands[X].shape;
    if ((uint32_t)(row - in->origin[HEIGHT]) < (uint32_t)in->extent[HEIGHT]) {
        return tilewright_row(&operands[X], HEIGHT, row) + (ptrdiff_t)n * in->stride[BATCH];
    }
    if (a->kept_bytes != 0 && row >= 0 && row < in->origin[HEIGHT]) {
        return kept_row(a, operands, row);
    }
    return NULL;
}

/* Sets a row of the walk to row `oh` of y. Returns the rows of its windows that are padding. */
static int32_t look(const struct tilewright_depthwise_along_attributes *a,
                    const struct tilewright_view *operands, struct tilewright_depthwise_row *row,
                    int32_t n, int32_t oh)
{
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t top = oh * a->strides[0] - a->pads[0];
    const int32_t left =
        out->origin[WIDTH] * a->strides[1] - a->pads[1] - operands[X].shape->origin[WIDTH];
    const ptrdiff_t offset = left > 0 ? (ptrdiff_t)left * operands[X].shape->stride[WIDTH] : 0;
    const uint8_t *const middle = row_of(a, operands, n, top + 1); /* which is never padding */
    int32_t missing = 0;

    for (int32_t i = 0; i < SIDE; i++) {
        const uint8_t *at = row_of(a, operands, n, top + i);
        if (at == NULL) {
            missing |= 1 << i;
            at = middle;
        }
        row->x[i] = (const int8_t *)at + offset;
    }
    row->out = tilewright_row(&operands[Y], HEIGHT, oh) + (ptrdiff_t)n * out->stride[BATCH];
    return missing;
}

/* Keeps the last rows of x for the next call. */
static void keep(const struct tilewright_depthwise_along_attributes *a,
                 const struct tilewright_view *operands)
{
    const struct tilewright_shape *in = operands[X].shape;
    const int32_t end = in->origin[HEIGHT] + in->extent[HEIGHT];
    const int32_t strides[2] = {1, 1}, bytes = 1;
    int32_t row = end - tilewright_smaller(in->extent[HEIGHT], KEPT);

    for (; row < end; row++) {
        uint8_t *const at[2] = {tilewright_row(&operands[X], HEIGHT, row),
                                kept_row(a, operands, row)};
        tilewright_move_row(at, strides, a->kept_bytes, &bytes);
    }
}

void tilewright_depthwise_along(const struct tilewright_depthwise_along_attributes *a,
                                const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t rows = out->extent[HEIGHT];
    const int32_t left = out->origin[WIDTH] * a->strides[1] - a->pads[1] - in->origin[WIDTH];
    const int32_t right = left + (out->extent[WIDTH] - 1) * a->strides[1] + SIDE;
    struct tilewright_depthwise_walk walk;

    walk.weights = (const int8_t *)operands[WEIGHTS].base;
    walk.constants = (const int32_t *)(const void *)operands[ROWS].base;
    walk.channels = out->extent[CHANNEL];
    walk.across = in->stride[WIDTH];
    walk.out_across = out->stride[WIDTH];
    walk.no_left = left < 0;
    walk.no_right = right > in->extent[WIDTH];
    walk.inner = (out->extent[WIDTH] - walk.no_right) * walk.out_across;
    walk.padding = (int8_t)a->padding;
    walk.limits = TILEWRIGHT_LIMITS(a);
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        int32_t done = 0;
        while (done < rows) {
            const int32_t most = tilewright_smaller(rows - done, TILEWRIGHT_ALONG_ROWS);
            walk.count = 0;
            while (walk.count < most) {
                const int32_t missing = look(a, operands, &walk.row[walk.count], n,
                                             out->origin[HEIGHT] + done + walk.count);
                if (walk.count > 0 && missing != walk.missing) {
                    break;
                }
                walk.missing = missing;
                walk.count++;
            }
            a->along(&walk);
            done += walk.count;
        }
    }
    if (flags != TILEWRIGHT_WHOLE && a->kept_bytes != 0) {
        keep(a, operands);
    }
}
