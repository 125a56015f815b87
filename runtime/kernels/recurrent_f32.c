/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/power_f32.h"

/* One direction of one entry of the batch, for the rows of the gates that the tile has. */
struct line {
    const struct tilewright_recurrent_f32_attributes *attributes;
    const struct tilewright_view *operands;
    int32_t direction; /* position in the whole tensor */
    int32_t units;
    int32_t rows; /* of all gates */
    const uint8_t *w;
    const uint8_t *r;
    const uint8_t *bias;       /* of W; biases and peepholes: NULL if the operator has none */
    const uint8_t *state_bias; /* of R */
    const uint8_t *peepholes;
    float *gate; /* [rows] */
    float *h;    /* [units] */
    float *c;    /* [units] of an LSTM, NULL for other cells */
};

static float activate(const struct line *line, int32_t number, float x)
{
    const struct tilewright_recurrent_f32_attributes *attributes = line->attributes;
    const int32_t at = 3 * line->direction + number;
    const float alpha = attributes->alpha[at];
    const float beta = attributes->beta[at];
    x = tilewright_clamp(x, -attributes->clip, attributes->clip);
    switch (attributes->activations[at]) {
    case TILEWRIGHT_SIGMOID:
        return tilewright_float_divide(1.0f, tilewright_float_add(1.0f, tilewright_exp(-x)));
    case TILEWRIGHT_TANH:
        return tilewright_tanh(x);
    case TILEWRIGHT_RELU:
        return x > 0.0f ? x : 0.0f;
    case TILEWRIGHT_AFFINE:
        return alpha * x + beta;
    case TILEWRIGHT_LEAKY_RELU:
        return x >= 0.0f ? x : alpha * x;
    case TILEWRIGHT_THRESHOLDED_RELU:
        return x >= alpha ? x : 0.0f;
    case TILEWRIGHT_SCALED_TANH:
        return alpha * tilewright_tanh(beta * x);
    case TILEWRIGHT_HARD_SIGMOID:
        return tilewright_clamp(alpha * x + beta, 0.0f, 1.0f);
    case TILEWRIGHT_ELU:
        return x >= 0.0f ? x : alpha * tilewright_exp_less_one(x);
    case TILEWRIGHT_SOFTSIGN:
        return x / (1.0f + fabsf(x));
    default:
        return (x > 0.0f ? x : 0.0f) + log1pf(tilewright_exp(-fabsf(x)));
    }
}

/* Adds products of `count` (1 or 4, for which callers pass a constant) rows of a matrix with a
 * vector to sums; steps are in bytes. */
TILEWRIGHT_INLINE void add_products(const uint8_t *rows, int32_t row_step, int32_t step,
                                    const uint8_t *x, int32_t x_step, int32_t taps, float *sums,
                                    const int32_t count)
{
    const uint8_t *w[4];
    float sum[4];
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < count; i++) {
        w[i] = rows + i * row_step;
        sum[i] = sums[i];
    }
    while (TILEWRIGHT_FAST_FLOATS && step == 4 && x_step == 4 && taps >= 4) {
        TILEWRIGHT_UNROLL_4
        for (int32_t ahead = 0; ahead < 16; ahead += 4) {
            const float value = tilewright_load_f32(x + ahead);
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < count; i++) {
                sum[i] = tilewright_multiply_add(tilewright_load_f32(w[i] + ahead), value, sum[i]);
            }
        }
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < count; i++) {
            w[i] += 16;
        }
        x += 16;
        taps -= 4;
    }
    for (; taps > 0; taps--) {
        const float value = tilewright_load_f32(x);
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < count; i++) {
            sum[i] = tilewright_multiply_add(tilewright_load_f32(w[i]), value, sum[i]);
            w[i] += step;
        }
        x += x_step;
    }
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < count; i++) {
        sums[i] = sum[i];
    }
}

static float bias_of(const struct line *line, const uint8_t *bias, int32_t operand, int32_t at)
{
    const struct tilewright_shape *shape = bias != NULL ? line->operands[operand].shape : NULL;
    return shape != NULL ? tilewright_load_f32(bias + (ptrdiff_t)at * shape->stride[5]) : 0.0f;
}

static float peephole(const struct line *line, int32_t row, int32_t unit, float state)
{
    if (line->peepholes == NULL) {
        return 0.0f;
    }
    const struct tilewright_shape *shape = line->operands[line->attributes->peepholes].shape;
    const int32_t at = row * line->units + unit;
    return tilewright_load_f32(line->peepholes + (ptrdiff_t)at * shape->stride[5]) * state;
}

/* What rows of the gates are sums of: W times x, and R times a state, each with its bias. */
struct sums {
    float input[4];
    float state[4];
};

/* The sums of `count` rows from row `at` of the tile on. */
TILEWRIGHT_INLINE void add_rows(const struct line *line, int32_t at, const uint8_t *x,
                                const float *state, struct sums *sums, const int32_t count)
{
    const struct tilewright_shape *w = line->operands[1].shape;
    const struct tilewright_shape *r = line->operands[2].shape;
    const struct tilewright_shape *x_shape = line->operands[0].shape;
    const int32_t bias = line->attributes->bias;
    for (int32_t i = 0; i < count; i++) {
        sums->input[i] = bias_of(line, line->bias, bias, at + i);
        sums->state[i] = bias_of(line, line->state_bias, bias + 1, at + i);
    }
    add_products(line->w + (ptrdiff_t)at * w->stride[4], w->stride[4], w->stride[5], x,
                 x_shape->stride[5], x_shape->extent[5], sums->input, count);
    add_products(line->r + (ptrdiff_t)at * r->stride[4], r->stride[4], r->stride[5],
                 (const uint8_t *)state, 4, line->units, sums->state, count);
}

static TILEWRIGHT_NOINLINE void four_rows(const struct line *line, int32_t at, const uint8_t *x,
                                          const float *state, struct sums *sums)
{
    add_rows(line, at, x, state, sums, 4);
}

static TILEWRIGHT_NOINLINE void one_row(const struct line *line, int32_t at, const uint8_t *x,
                                        const float *state, struct sums *sums)
{
    add_rows(line, at, x, state, sums, 1);
}

/* The gate of a row before the state changes; of an LSTM without its activation. */
static float gate_of(const struct line *line, int32_t row, float input, float state)
{
    const int32_t units = line->units;
    switch (line->attributes->cell) {
    case TILEWRIGHT_CELL_RNN:
        return activate(line, 0, input + state);
    case TILEWRIGHT_CELL_LSTM:
        return input + state;
    default:
        if (row < 2 * units) {
            return activate(line, 0, input + state);
        }
        if (line->attributes->linear_before_reset == 0) {
            return activate(line, 1, input + state);
        }
        return activate(line, 1, input + line->gate[row - units] * state);
    }
}

/* Gates in ONNX's order: input, output, forget, cell; peepholes: input, output, forget. */
static void finish_lstm(const struct line *line, int32_t unit)
{
    const float *gate = line->gate + unit;
    const int32_t units = line->units;
    const float limit = line->attributes->cell_clip;
    const float before = line->c[unit];
    const float input = activate(line, 0, gate[0] + peephole(line, 0, unit, before));
    const float forget = line->attributes->input_forget != 0
                             ? 1.0f - input
                             : activate(line, 0, gate[2 * units] + peephole(line, 2, unit, before));
    float after = forget * before + input * activate(line, 1, gate[3 * units]);
    if (limit > 0.0f) {
        after = tilewright_clamp(after, -limit, limit);
    }
    const float output = activate(line, 0, gate[units] + peephole(line, 1, unit, after));
    line->c[unit] = after;
    line->h[unit] = output * activate(line, 2, after);
}

/* The state behind a step, of which all gates are known. */
static void finish(const struct line *line)
{
    const int32_t units = line->units;
    for (int32_t unit = 0; unit < units; unit++) {
        if (line->c != NULL) {
            finish_lstm(line, unit);
        } else if (line->attributes->cell == TILEWRIGHT_CELL_GRU) {
            const float z = line->gate[unit];
            line->h[unit] = (1.0f - z) * line->gate[2 * units + unit] + z * line->h[unit];
        } else {
            line->h[unit] = line->gate[unit];
        }
    }
}

/* The rows of the tile for one step. */
static void step(const struct line *line, const uint8_t *x)
{
    const struct tilewright_shape *shape = line->operands[2].shape;
    const int32_t units = line->units;
    const int resets =
        line->attributes->cell == TILEWRIGHT_CELL_GRU && line->attributes->linear_before_reset == 0;

    int32_t at = 0;
    while (at < shape->extent[4]) {
        const int32_t row = shape->origin[4] + at;
        const int is_reset = resets && row >= 2 * units;
        /* Rows up to which the state that they multiply is known. */
        const int32_t end = resets && !is_reset ? 2 * units - shape->origin[4] : shape->extent[4];
        const int32_t left = tilewright_smaller(end, shape->extent[4]) - at;
        const int32_t count = left >= 4 ? 4 : 1;
        struct sums sums;
        if (count == 4) {
            four_rows(line, at, x, is_reset ? line->gate + units : line->h, &sums);
        } else {
            one_row(line, at, x, is_reset ? line->gate + units : line->h, &sums);
        }
        for (int32_t i = 0; i < count; i++) {
            line->gate[row + i] = gate_of(line, row + i, sums.input[i], sums.state[i]);
        }
        at += count;
        if (resets && row + count == 2 * units) {
            for (int32_t unit = 0; unit < units; unit++) {
                line->gate[units + unit] *= line->h[unit];
            }
        }
    }
    if (shape->origin[4] + shape->extent[4] == line->rows) {
        finish(line);
    }
}

/* Address of [direction, entry] in an operand [direction, entry, unit]; both indices are positions
 * in the whole tensor. */
static uint8_t *state_at(const struct tilewright_view *view, int32_t direction, int32_t entry)
{
    return view->base + tilewright_axis_offset(view->shape, 3, direction) +
           tilewright_axis_offset(view->shape, 4, entry);
}

static void start(const struct line *line, int32_t entry, int32_t operand, float *state)
{
    for (int32_t unit = 0; unit < line->units; unit++) {
        state[unit] = 0.0f;
        if (operand >= 0) {
            const struct tilewright_view *view = &line->operands[operand];
            state[unit] = tilewright_load_f32(state_at(view, line->direction, entry) +
                                              (ptrdiff_t)unit * view->shape->stride[5]);
        }
    }
}

/* Stores a state in operand number `operand`. */
static void leave(const struct line *line, int32_t entry, int32_t operand, const float *state)
{
    const struct tilewright_view *view = &line->operands[operand];
    uint8_t *to = state_at(view, line->direction, entry);
    for (int32_t unit = 0; unit < line->units; unit++) {
        tilewright_store_f32(to + (ptrdiff_t)unit * view->shape->stride[5], state[unit]);
    }
}

static void write_output(const struct line *line, int32_t at, int32_t entry, int valid)
{
    const struct tilewright_view *y = &line->operands[line->attributes->outputs];
    uint8_t *to = y->base + tilewright_axis_offset(y->shape, 2, at) +
                  tilewright_axis_offset(y->shape, 3, line->direction) +
                  tilewright_axis_offset(y->shape, 4, entry);
    for (int32_t unit = 0; unit < line->units; unit++) {
        tilewright_store_f32(to + (ptrdiff_t)unit * y->shape->stride[5],
                             valid ? line->h[unit] : 0.0f);
    }
}

/* Whether the mask, if there is one, lets a step count. */
static int counts(const struct line *line, int32_t at, int32_t entry)
{
    if (line->attributes->mask < 0) {
        return 1;
    }
    const struct tilewright_view *mask = &line->operands[line->attributes->mask];
    return mask->base[tilewright_axis_offset(mask->shape, 3, at) +
                      tilewright_axis_offset(mask->shape, 4, entry)] != 0;
}

/* The number of steps of an entry that count; those behind give zeros. */
static int32_t length_of(const struct line *line, int32_t entry)
{
    if (line->attributes->lengths < 0) {
        return INT32_MAX;
    }
    const struct tilewright_view *lengths = &line->operands[line->attributes->lengths];
    return *(const int32_t *)(const void *)(lengths->base +
                                            tilewright_axis_offset(lengths->shape, 5, entry));
}

static void run_entry(const struct line *line, int32_t entry, uint32_t flags)
{
    const struct tilewright_recurrent_f32_attributes *attributes = line->attributes;
    const struct tilewright_view *x = &line->operands[0];
    const struct tilewright_shape *rows = line->operands[2].shape;
    const int32_t steps = x->shape->extent[3];
    const int32_t length = length_of(line, entry);

    if ((flags & TILEWRIGHT_FIRST) != 0) {
        start(line, entry, attributes->initial_h, line->h);
        if (line->c != NULL) {
            start(line, entry, attributes->initial_c, line->c);
        }
    }
    for (int32_t i = 0; i < steps; i++) {
        const int32_t ahead = attributes->reverse[line->direction] != 0 ? steps - 1 - i : i;
        const int32_t at = x->shape->origin[3] + ahead;
        if (at < length && counts(line, at, entry)) {
            step(line, x->base + tilewright_axis_offset(x->shape, 3, at) +
                           tilewright_axis_offset(x->shape, 4, entry));
        }
        if (rows->origin[4] + rows->extent[4] == line->rows) {
            write_output(line, at, entry, at < length);
        }
    }
    if ((flags & TILEWRIGHT_LAST) != 0) {
        leave(line, entry, attributes->outputs + 1, line->h);
        if (line->c != NULL) {
            leave(line, entry, attributes->outputs + 2, line->c);
        }
    }
}

/* Address of a direction in an operand [direction, row, ...]; `axis` is the axis of directions.
 * NULL if the operator has no such operand. */
static const uint8_t *of_direction(const struct tilewright_view *operands, int32_t operand,
                                   int32_t axis, int32_t direction)
{
    if (operand < 0) {
        return NULL;
    }
    return operands[operand].base +
           tilewright_axis_offset(operands[operand].shape, axis, direction);
}

void tilewright_recurrent_f32(const struct tilewright_recurrent_f32_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags)
{
    static const int32_t gates[3] = {1, 3, 4};
    const struct tilewright_shape *y = operands[attributes->outputs].shape;
    const int lstm = attributes->cell == TILEWRIGHT_CELL_LSTM;
    const int32_t units = y->extent[5];
    const int32_t rows = gates[attributes->cell] * units;
    /* Parts keep what belongs to a direction of an entry; else one follows the other in scratch. */
    const int32_t kept = flags == TILEWRIGHT_WHOLE ? 0 : rows + (lstm ? 2 : 1) * units;
    float *gate = (float *)(void *)operands[attributes->outputs + (lstm ? 3 : 2)].base;
    struct line line = {.attributes = attributes, .operands = operands, .units = units};

    line.rows = rows;
    for (int32_t d = y->origin[3]; d < y->origin[3] + y->extent[3]; d++) {
        line.direction = d;
        line.w = of_direction(operands, 1, 3, d);
        line.r = of_direction(operands, 2, 3, d);
        line.bias = of_direction(operands, attributes->bias, 4, d);
        line.state_bias =
            of_direction(operands, attributes->bias < 0 ? -1 : attributes->bias + 1, 4, d);
        line.peepholes = of_direction(operands, attributes->peepholes, 4, d);
        for (int32_t b = y->origin[4]; b < y->origin[4] + y->extent[4]; b++) {
            line.gate = gate;
            line.h = gate + rows;
            line.c = lstm ? line.h + units : NULL;
            run_entry(&line, b, flags);
            gate += kept;
        }
    }
}
