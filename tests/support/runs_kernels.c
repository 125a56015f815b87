/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions by runs of taps with the instructions of a family, against plain loops, on random
 * work: shapes, strides, pads, groups, tiles, rings, layouts, rules, rows from the last to the
 * first. FAMILY is the family's name. */
#include <stdio.h>
#include <string.h>
#include <tilewright/kernels/integer_rules.h>
#include <tilewright/kernels/runs.h>

#include "random_work.h"

#ifndef CASES
#define CASES 400
#endif
#ifndef BLOCKS
#define BLOCKS 16, 32, 64
#endif
/* Pairs of channels in words of four taps; the last channel may be alone. */
#define PAIRED(t, c, taps, count)                                                                  \
    ((c) / 2 * 2 * (taps) + ((c) / 2 * 2 + 1 < (count) ? (t) / 4 * 8 + (c) % 2 * 4 + (t) % 4 : (t)))
#define JOIN(a, b, c) a##b##_##c
#define NAMED(family, name) JOIN(tilewright_, family, name)
#define OF_FAMILY(name) NAMED(FAMILY, name)

enum {
    X_BYTES = 300000,
    W_BYTES = 16384,
    Y_BYTES = 40000,
    MOST_CHANNELS = 80,
    SCRATCH_BYTES = 16384
};

static uint8_t x[X_BYTES], y[2][Y_BYTES];
static _Alignas(16) int8_t weights[W_BYTES], packed[W_BYTES];
static _Alignas(16) uint8_t scratch[SCRATCH_BYTES];
static int32_t rows[4 * MOST_CHANNELS];

/* A random case: attributes, shapes of the tiles of x and y, and what the loops below need. */
enum { AS_ONE_RUN = 2 }; /* of attributes: taps are gathered, and make one run */

struct work {
    struct tilewright_conv_runs_attributes a;
    struct tilewright_shape in, out;
    enum tilewright_rule_kind rule;
    int32_t groups, is_unsigned;
    int32_t rows_in, rows_out; /* of the whole x and y */
};

static int32_t taps_of(const struct work *work)
{
    return work->a.kernel[0] * work->a.kernel[1] * work->a.group_inputs;
}

static void set_rule(struct work *work)
{
    static tilewright_runs_products *const finished[] = {
        OF_FAMILY(folded), OF_FAMILY(layer), OF_FAMILY(high), OF_FAMILY(sums), LITE_FINISHES};
    static const enum tilewright_rule_kind rules[] = {
        TILEWRIGHT_RULE_FOLDED, TILEWRIGHT_RULE_LAYER, TILEWRIGHT_RULE_HIGH,
        TILEWRIGHT_RULE_LONG,   TILEWRIGHT_RULE_AWAY,  TILEWRIGHT_RULE_TWICE};
    static const int32_t words[] = {TILEWRIGHT_WORDS_FOLDED, TILEWRIGHT_WORDS_LAYER,
                                    TILEWRIGHT_WORDS_HIGH,   TILEWRIGHT_WORDS_LONG,
                                    TILEWRIGHT_WORDS_AWAY,   TILEWRIGHT_WORDS_TWICE};
    const int32_t kind = between(0, (int32_t)(sizeof finished / sizeof *finished) - 1);
    work->rule = rules[kind];
    work->a.finished = finished[kind];
    work->a.finish = kind == 3 ? tilewright_block_long : NULL;
    work->a.row_words = words[kind];
    work->a.biased = kind != 0;
    work->a.minimum = between(-128, 0);
    work->a.maximum = between(1, 127);
    const int32_t known = between(0, 2); /* limits that an instruction may know, and others */
    if (known != 0) {
        work->a.minimum = known == 1 ? -128 : 0;
        work->a.maximum = work->a.minimum + 255;
    }
    work->a.addend = between(-3000, 3000);
    work->a.shift = between(0, 12);
    for (int32_t c = 0; c < MOST_CHANNELS; c++) {
        int32_t *row = rows + c * words[kind];
        row[0] = kind == 0 ? between(-300, 300) : between(-60000, 60000);
        row[1] = kind == 0 ? between(-60000, 60000)
                           : (int32_t)((next() << 8 ^ next()) & 0x7fffffffu) >> between(0, 4);
        if (words[kind] == 4) {
            row[2] = between(-3000, 3000);
            row[3] = kind == 3 ? between(30, 38) : between(0, 12);
        }
        if (work->rule == TILEWRIGHT_RULE_AWAY) {
            row[1] = (int32_t)(next() << 8 ^ next());
            row[3] |= (int32_t)((uint32_t)between(-60000, 60000) << 8);
        } else if (work->rule == TILEWRIGHT_RULE_TWICE) {
            row[1] = (int32_t)((next() << 8 ^ next()) & 0xfffffffeu);
            row[3] = between(1, 12);
        }
    }
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The rows or columns of x that a tile of y needs, clipped to x. */
static void set_axis(struct work *work, int32_t axis, int32_t whole_in, int32_t whole_out)
{
    const int32_t i = axis - 2;
    const int32_t first = between(0, whole_out - 1);
    const int32_t count = between(1, whole_out - first);
    const int32_t low = first * work->a.strides[i] - work->a.pads[i];
    const int32_t reach =
        (count - 1) * work->a.strides[i] + (work->a.kernel[i] - 1) * work->a.dilations[i] + 1;
    const int32_t begin = low < 0 ? 0 : smaller(low, whole_in - 1);
    const int32_t end = low + reach <= begin ? begin + 1 : smaller(low + reach, whole_in);
    work->out.origin[axis] = first;
    work->out.extent[axis] = count;
    work->in.origin[axis] = begin;
    work->in.extent[axis] = end - begin;
}

/* With up to two rows more of a ring. */
static int32_t bytes_of_x(const struct work *work)
{
    const struct tilewright_shape *in = &work->in;
    return in->stride[0] * in->extent[0] + 2 * in->stride[2];
}

static int32_t set_shapes(struct work *work)
{
    const int32_t channels_in = work->groups * work->a.group_inputs;
    const int32_t depth = work->a.is_depthwise;
    const int32_t channels = depth ? work->a.group_outputs : work->groups * work->a.group_outputs;
    const int32_t beside = depth || work->a.group_inputs > 4 || between(0, 1);
    struct tilewright_shape *in = &work->in, *out = &work->out;
    /* Offsets to the last channel that 16 bits hold, and others: those of windows within x count.
     */
    static const int32_t gaps[] = {5, 5, 5, 20000, 33000, 66000};
    const int32_t gap = gaps[between(0, 5)];
    if (gap > 5 && !beside) {
        work->a.pads[0] = work->a.pads[1] = 0;
    }
    for (int32_t axis = 2; axis < 4; axis++) {
        const int32_t span = (work->a.kernel[axis - 2] - 1) * work->a.dilations[axis - 2] + 1;
        const int32_t whole = between(1, 9);
        const int32_t room = whole + 2 * work->a.pads[axis - 2] - span;
        if (room < 0) {
            return 0;
        }
        const int32_t whole_out = room / work->a.strides[axis - 2] + 1;
        set_axis(work, axis, whole, whole_out);
        if (axis == 2) {
            work->rows_in = whole;
            work->rows_out = whole_out;
        }
    }
    in->extent[0] = out->extent[0] = between(1, 2);
    in->extent[1] = depth ? channels : channels_in;
    out->extent[1] = channels;
    const int32_t more = between(0, 1) * between(0, 3);
    in->stride[1] = beside ? 1 : in->extent[2] * in->extent[3] + gap;
    in->stride[3] = beside ? in->extent[1] + more : 1;
    in->stride[2] = in->stride[3] * in->extent[3] + more;
    in->stride[0] =
        in->stride[2] * in->extent[2] + 3 + (beside ? 0 : in->extent[1] * in->stride[1]);
    if (!GATHERS && !depth && (!beside || between(0, 3) == 0)) {
        work->a.gathers = AS_ONE_RUN;
    }
    const int32_t apart = between(0, 1);
    out->stride[1] = apart ? 1 : out->extent[2] * out->extent[3];
    out->stride[3] = apart ? channels + more : 1;
    out->stride[2] = out->stride[3] * out->extent[3];
    out->stride[0] = (out->stride[2] * out->extent[2] + 1) * (apart ? 1 : channels + 1);
    if (between(0, 3) == 0 && beside && in->extent[0] == 1) {
        in->ring_axis = 2;
        in->ring_rows = in->extent[2] + between(0, 2);
    }
    return bytes_of_x(work) <= X_BYTES && out->stride[0] * out->extent[0] <= Y_BYTES;
}

static int32_t set_work(struct work *work)
{
    static const int32_t blocks[] = {BLOCKS};
    static const int32_t inputs[] = {1, 2, 3, 5, 8, 16, 17, 40};
    memset(work, 0, sizeof *work);
    for (int32_t i = 0; i < 2; i++) {
        work->a.kernel[i] = between(1, 4);
        work->a.strides[i] = between(1, 2);
        work->a.dilations[i] = between(0, 3) == 0 ? 2 : 1;
        work->a.pads[i] = between(0, work->a.kernel[i] - 1);
    }
    work->is_unsigned = between(0, 1);
    work->a.is_depthwise = IS_DEPTHWISE && between(0, 2) == 0;
    work->a.gathers = !work->a.is_depthwise && GATHERS;
    work->groups = work->a.is_depthwise ? 1 : between(1, 2);
    work->a.group_inputs = work->a.is_depthwise ? 1 : inputs[between(0, 7)];
    work->a.group_outputs = between(1, MOST_CHANNELS / 2) * (work->groups == 1 ? 2 : 1);
    work->a.padding = between(0, 255);
    work->a.block = blocks[between(0, (int32_t)(sizeof blocks / sizeof *blocks) - 1)];
    work->a.pixels = PIXELS;
#if IS_DEPTHWISE
    work->a.products =
        work->a.is_depthwise
            ? (work->is_unsigned ? OF_FAMILY(channels_unsigned) : OF_FAMILY(channels_signed))
            : (work->is_unsigned ? OF_FAMILY(products_unsigned) : OF_FAMILY(products_signed));
#else
    work->a.products =
        work->is_unsigned ? OF_FAMILY(products_unsigned) : OF_FAMILY(products_signed);
#endif
    work->a.padding_at = 2048;
    work->a.sums_at = 3072;
    work->a.gathered_at = 5120;
    work->a.taps = (taps_of(work) + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    set_rule(work);
    return set_shapes(work);
}

/* [channel][tap] to [block][tap][channel of the block], group by group. */
static void pack_weights(const struct work *work)
{
    const int32_t taps = taps_of(work), padded = work->a.taps;
    int8_t *to = packed;
    for (int32_t g = 0; g < work->groups; g++) {
        const int8_t *from = weights + g * work->a.group_outputs * taps;
        for (int32_t c = 0; c < work->a.group_outputs; c += work->a.block) {
            const int32_t count = smaller(work->a.block, work->a.group_outputs - c);
            for (int32_t i = 0; i < padded * count; i++) {
                to[PACKED_AT(i / count, i % count, padded, count, work->a.is_depthwise)] =
                    i / count < taps ? from[(c + i % count) * taps + i / count] : 0;
            }
            to += padded * count;
        }
    }
}

static int32_t sum_of(const struct work *work, int32_t n, int32_t channel, int32_t oh, int32_t ow)
{
    const struct tilewright_conv_runs_attributes *a = &work->a;
    const struct tilewright_view view = {x, &work->in};
    const int32_t group = a->is_depthwise ? channel : channel / a->group_outputs;
    const int8_t *w = weights + channel * taps_of(work);
    int32_t sum = a->biased ? rows[channel * a->row_words] : 0;
    for (int32_t i = 0; i < taps_of(work); i++) {
        const int32_t c = i % a->group_inputs, kw = i / a->group_inputs % a->kernel[1];
        const int32_t row =
            oh * a->strides[0] - a->pads[0] + i / a->group_inputs / a->kernel[1] * a->dilations[0];
        const int32_t column = ow * a->strides[1] - a->pads[1] + kw * a->dilations[1];
        uint8_t value = (uint8_t)a->padding;
        if (row >= work->in.origin[2] && row < work->in.origin[2] + work->in.extent[2] &&
            column >= work->in.origin[3] && column < work->in.origin[3] + work->in.extent[3]) {
            value = tilewright_row(
                &view, 2,
                row)[n * work->in.stride[0] + (group * a->group_inputs + c) * work->in.stride[1] +
                     (column - work->in.origin[3]) * work->in.stride[3]];
        }
        sum += w[i] * (work->is_unsigned ? value - ZERO_OF_UNSIGNED : (int8_t)value);
    }
    return sum;
}

static void by_loops(const struct work *work)
{
    const struct tilewright_shape *out = &work->out;
    const struct tilewright_limits limits = TILEWRIGHT_LIMITS(&work->a);
    for (int32_t n = 0; n < out->extent[0]; n++) {
        for (int32_t c = 0; c < out->extent[1]; c++) {
            const struct tilewright_constants constants =
                tilewright_constants_of(rows + c * work->a.row_words, &limits, work->rule);
            for (int32_t i = 0; i < out->extent[2] * out->extent[3]; i++) {
                const int32_t oh = i / out->extent[3], ow = i % out->extent[3];
                uint8_t *at = y[1] + n * out->stride[0] + c * out->stride[1] + oh * out->stride[2] +
                              ow * out->stride[3];
                tilewright_store_sum(at,
                                     sum_of(work, n, c, oh + out->origin[2], ow + out->origin[3]),
                                     constants, &limits, work->rule);
            }
        }
    }
}

/* The view of a tile whose rows are counted from the last of `whole` rows to the first. */
static struct tilewright_view turned(uint8_t *base, struct tilewright_shape *shape, int32_t whole)
{
    const struct tilewright_view view = {base + (shape->extent[2] - 1) * shape->stride[2], shape};
    shape->origin[2] = whole - shape->origin[2] - shape->extent[2];
    shape->stride[2] = -shape->stride[2];
    return view;
}

/* The same work from the last row to the first, as plans that store an output over its input do. */
static void turn(struct work *work, struct tilewright_view *x_view, struct tilewright_view *y_view)
{
    struct tilewright_conv_runs_attributes *a = &work->a;
    a->pads[0] = (work->rows_out - 1) * a->strides[0] - a->pads[0] - (work->rows_in - 1);
    a->dilations[0] = -a->dilations[0];
    *x_view = turned(x, &work->in, work->rows_in);
    *y_view = turned(y[0], &work->out, work->rows_out);
}

int main(void)
{
    uint32_t differences = 0, cases = 0;
    while (cases < CASES) {
        struct work work;
        if (!set_work(&work) || work.groups * work.a.group_outputs * work.a.taps > W_BYTES) {
            continue;
        }
        struct tilewright_view views[] = {{x, &work.in},
                                          {(uint8_t *)packed, NULL},
                                          {(uint8_t *)rows, NULL},
                                          {y[0], &work.out},
                                          {scratch, NULL}};
        for (int32_t i = 0; i < bytes_of_x(&work); i++) {
            x[i] = (uint8_t)(next() >> 8); /* lower bits repeat after 65,536 */
        }
        for (int32_t i = 0; i < work.groups * work.a.group_outputs * work.a.taps; i++) {
            weights[i] = (int8_t)between(0, 15) == 0 ? -128 : (int8_t)next();
        }
        memset(y, 0, sizeof y);
        pack_weights(&work);
        by_loops(&work);
        if (work.in.ring_rows == 0 && between(0, 2) == 0) {
            turn(&work, &views[0], &views[3]);
        }
        tilewright_conv_runs(&work.a, views, TILEWRIGHT_WHOLE);
        differences += memcmp(y[0], y[1], Y_BYTES) != 0;
        cases++;
    }
    printf("%u cases: %u differ\n", (unsigned)cases, (unsigned)differences);
    return differences != 0;
}
