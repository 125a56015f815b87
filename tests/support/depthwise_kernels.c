/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions with the instructions of a family, against plain loops, on random work:
 * kernels, strides, pads, dilations, tiles, rings, layouts, rules. With PLANES kernels of 3x3 taps
 * whose sums are made plane by plane, else those of Cortex-M55. */
#include <stdio.h>
#include <string.h>
#include <tilewright/kernels/integer_rules.h>
#include <tilewright/runtime.h>

#include "random_work.h"

enum { CASES = 400, BYTES = 20000, MOST_CHANNELS = 9, MOST_TAPS = 16 };

static uint8_t x[BYTES], y[2][BYTES];
static int8_t weights[MOST_CHANNELS * MOST_TAPS];
static _Alignas(4) uint8_t scratch[4096];
static int32_t rows[4 * MOST_CHANNELS];

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

#if defined(PLANES)
typedef struct tilewright_depthwise_integer_attributes attributes;
#else
typedef struct tilewright_depthwise_mve_attributes attributes;
#endif

struct work {
    attributes a;
    int32_t is_biased, words; /* of a row of constants */
    struct tilewright_shape in, out;
    enum tilewright_rule_kind rule;
};

static void set_rule(struct work *work)
{
    static const enum tilewright_rule_kind rules[] = {TILEWRIGHT_RULE_FOLDED, TILEWRIGHT_RULE_LAYER,
                                                      TILEWRIGHT_RULE_HIGH};
    static const int32_t words[] = {TILEWRIGHT_WORDS_FOLDED, TILEWRIGHT_WORDS_LAYER,
                                    TILEWRIGHT_WORDS_HIGH};
    const int32_t kind = between(0, 2);
    work->rule = rules[kind];
    work->is_biased = kind != 0;
    work->words = words[kind];
    work->a.minimum = between(-128, 0);
    work->a.maximum = between(1, 127);
#if defined(PLANES)
    static const struct tilewright_line_rule *const lines[] = {
        &tilewright_line_rule_folded, &tilewright_line_rule_layer, &tilewright_line_rule_high};
    work->a.rule = lines[kind];
    work->a.sums = tilewright_depthwise_dsp;
    work->a.weight_bytes = 1;
    work->a.sums_at = 1024;
    const int32_t known = between(0, 2); /* limits that an instruction knows, and others */
    if (known != 0) {
        work->a.minimum = known == 1 ? -128 : 0;
        work->a.maximum = work->a.minimum + 255;
    }
#else
    work->a.compute = kind == 0 ? tilewright_depthwise_mve_folded : tilewright_depthwise_mve_high;
    work->a.biased = work->is_biased;
    work->a.row_words = work->words;
#endif
    work->a.addend = between(-3000, 3000);
    work->a.shift = between(0, 12);
    for (int32_t c = 0; c < MOST_CHANNELS; c++) {
        int32_t *row = rows + c * words[kind];
        row[0] = kind == 0 ? between(-300, 300) : between(-60000, 60000);
        row[1] = kind == 0 ? between(-60000, 60000)
                           : (int32_t)((next() << 8 ^ next()) & 0x7fffffffu) >> between(0, 4);
        if (words[kind] == 4) {
            row[2] = between(-3000, 3000);
            row[3] = between(0, 12);
        }
    }
}

/* The rows or columns of x that a tile of y needs, clipped to x; 0 if there is no element of y. */
static int32_t set_axis(struct work *work, int32_t axis, int32_t whole_in)
{
    const int32_t i = axis - 2, reach = (work->a.kernel[i] - 1) * work->a.dilations[i] + 1;
    const int32_t room = whole_in + 2 * work->a.pads[i] - reach;
    if (room < 0) {
        return 0;
    }
    const int32_t whole_out = room / work->a.strides[i] + 1;
    const int32_t first = between(0, 1) * between(0, whole_out - 1);
    const int32_t count = between(0, 1) != 0 ? whole_out - first : between(1, whole_out - first);
    const int32_t low = first * work->a.strides[i] - work->a.pads[i];
    const int32_t begin = low < 0 ? 0 : smaller(low, whole_in - 1);
    const int32_t end = smaller(low + (count - 1) * work->a.strides[i] + reach, whole_in);
    work->out.origin[axis] = first;
    work->out.extent[axis] = count;
    work->in.origin[axis] = begin;
    work->in.extent[axis] = end <= begin ? 1 : end - begin;
    return 1;
}

static int32_t set_work(struct work *work)
{
    struct tilewright_shape *in = &work->in, *out = &work->out;
    memset(work, 0, sizeof *work);
    for (int32_t i = 0; i < 2; i++) {
#if defined(PLANES)
        work->a.kernel[i] = 3;
        work->a.dilations[i] = 1;
#else
        work->a.kernel[i] = between(1, 4);
        work->a.dilations[i] = between(0, 3) == 0 ? 2 : 1;
#endif
        work->a.strides[i] = between(1, 2);
        work->a.pads[i] = between(0, work->a.kernel[i] - 1);
    }
    work->a.padding = between(0, 255);
    work->a.is_unsigned = between(0, 1);
    set_rule(work);
    if (set_axis(work, 2, between(1, 28)) == 0 || set_axis(work, 3, between(1, 12)) == 0) {
        return 0;
    }
    const int32_t channels = between(1, MOST_CHANNELS), more = between(0, 1) * between(0, 3);
    const int32_t beside = between(0, 3) != 0;
    in->extent[0] = out->extent[0] = between(1, 2);
    in->extent[1] = out->extent[1] = channels;
    in->stride[1] = beside ? 1 : in->extent[2] * in->extent[3] + 5;
    in->stride[3] = beside ? channels + more : 1;
    in->stride[2] = in->stride[3] * in->extent[3] + more;
    in->stride[0] = (in->stride[2] * in->extent[2] + 3) * (beside ? 1 : channels + 1);
    out->stride[1] = beside ? 1 : out->extent[2] * out->extent[3];
    out->stride[3] = beside ? channels + more : 1;
    out->stride[2] = out->stride[3] * out->extent[3];
    out->stride[0] = (out->stride[2] * out->extent[2] + 1) * (beside ? 1 : channels + 1);
    for (int32_t i = 0; i < 2 && beside && in->extent[0] == 1; i++) {
        struct tilewright_shape *ringed = i == 0 ? in : out;
        if (between(0, 3) == 0) {
            ringed->ring_axis = 2;
            ringed->ring_rows = ringed->extent[2] + between(0, 2);
        }
    }
    return in->stride[0] * in->extent[0] + 2 * in->stride[2] <= BYTES &&
           out->stride[0] * out->extent[0] + 2 * out->stride[2] <= BYTES;
}

static int32_t sum_of(const struct work *work, int32_t n, int32_t channel, int32_t oh, int32_t ow)
{
    const attributes *a = &work->a;
    const struct tilewright_shape *in = &work->in;
    const struct tilewright_view view = {x, in};
    const int32_t taps = a->kernel[0] * a->kernel[1];
    int32_t sum = work->is_biased ? rows[channel * work->words] : 0;
    for (int32_t t = 0; t < taps; t++) {
        const int32_t row = oh * a->strides[0] - a->pads[0] + t / a->kernel[1] * a->dilations[0];
        const int32_t column = ow * a->strides[1] - a->pads[1] + t % a->kernel[1] * a->dilations[1];
        uint8_t value = (uint8_t)a->padding;
        if (row >= in->origin[2] && row < in->origin[2] + in->extent[2] &&
            column >= in->origin[3] && column < in->origin[3] + in->extent[3]) {
            value = tilewright_row(&view, 2, row)[n * in->stride[0] + channel * in->stride[1] +
                                                  (column - in->origin[3]) * in->stride[3]];
        }
        sum += weights[channel * taps + t] * (a->is_unsigned ? value - 128 : (int8_t)value);
    }
    return sum;
}

static void by_loops(const struct work *work)
{
    const struct tilewright_shape *out = &work->out;
    const struct tilewright_view view = {y[1], out};
    const struct tilewright_limits limits = TILEWRIGHT_LIMITS(&work->a);
    for (int32_t n = 0; n < out->extent[0]; n++) {
        for (int32_t c = 0; c < out->extent[1]; c++) {
            const struct tilewright_constants constants =
                tilewright_constants_of(rows + c * work->words, &limits, work->rule);
            for (int32_t i = 0; i < out->extent[2] * out->extent[3]; i++) {
                const int32_t oh = i / out->extent[3] + out->origin[2], ow = i % out->extent[3];
                uint8_t *at = tilewright_row(&view, 2, oh) + n * out->stride[0] +
                              c * out->stride[1] + ow * out->stride[3];
                tilewright_store_sum(at, sum_of(work, n, c, oh, ow + out->origin[3]), constants,
                                     &limits, work->rule);
            }
        }
    }
}

int main(void)
{
    uint32_t differences = 0, cases = 0;
    while (cases < CASES) {
        struct work work;
        if (!set_work(&work)) {
            continue;
        }
        const struct tilewright_view views[] = {{x, &work.in},
                                                {(uint8_t *)weights, NULL},
                                                {(uint8_t *)rows, NULL},
                                                {y[0], &work.out},
                                                {scratch, NULL}};
        for (int32_t i = 0; i < BYTES; i++) {
            x[i] = (uint8_t)next();
        }
        for (int32_t i = 0; i < MOST_CHANNELS * MOST_TAPS; i++) {
            weights[i] = (int8_t)next();
        }
        memset(y, 0, sizeof y);
#if defined(PLANES)
        tilewright_depthwise_integer(&work.a, views, TILEWRIGHT_WHOLE);
#else
        tilewright_depthwise_mve(&work.a, views, TILEWRIGHT_WHOLE);
#endif
        by_loops(&work);
        differences += memcmp(y[0], y[1], BYTES) != 0;
        cases++;
    }
    printf("%u cases: %u differ\n", (unsigned)cases, (unsigned)differences);
    return differences != 0;
}
