/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/float_math.h"

/* The state for one direction of one entry of the batch. */
struct line {
    const struct tilewright_recurrent_f32_attributes *attributes;
    const struct tilewright_view *operands;
    int32_t direction; /* position in the whole tensor */
    int32_t units;
    int32_t gates;
    const uint8_t *w;
    const uint8_t *r;
    const uint8_t *bias; /* bias, peepholes and c: NULL if the operator has none */
    const uint8_t *peepholes;
    uint8_t *h;
    int32_t h_step;
    uint8_t *c;
    int32_t c_step;
    float *gate;  /* [gates * units] */
    float *reset; /* [units]: reset state of a GRU */
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
        return 1.0f / (1.0f + expf(-x));
    case TILEWRIGHT_TANH:
        return tanhf(x);
    case TILEWRIGHT_RELU:
        return x > 0.0f ? x : 0.0f;
    case TILEWRIGHT_AFFINE:
        return alpha * x + beta;
    case TILEWRIGHT_LEAKY_RELU:
        return x >= 0.0f ? x : alpha * x;
    case TILEWRIGHT_THRESHOLDED_RELU:
        return x >= alpha ? x : 0.0f;
    case TILEWRIGHT_SCALED_TANH:
        return alpha * tanhf(beta * x);
    case TILEWRIGHT_HARD_SIGMOID:
        return tilewright_clamp(alpha * x + beta, 0.0f, 1.0f);
    case TILEWRIGHT_ELU:
        return x >= 0.0f ? x : alpha * expm1f(x);
    case TILEWRIGHT_SOFTSIGN:
        return x / (1.0f + fabsf(x));
    default:
        return (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x)));
    }
}

static float product(const uint8_t *a, int32_t a_step, const uint8_t *b, int32_t b_step,
                     int32_t count, float total)
{
    for (; count > 0; count--) {
        total += tilewright_load_f32(a) * tilewright_load_f32(b);
        a += a_step;
        b += b_step;
    }
    return total;
}

static float bias_of(const struct line *line, int32_t row)
{
    const struct tilewright_shape *shape =
        line->bias != NULL ? line->operands[line->attributes->bias].shape : NULL;
    return shape != NULL ? tilewright_load_f32(line->bias + (ptrdiff_t)row * shape->stride[5])
                         : 0.0f;
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

/* Row `row` of W times x, plus the row's bias. */
static float input_part(const struct line *line, int32_t row, const uint8_t *x)
{
    const struct tilewright_shape *shape = line->operands[1].shape;
    const struct tilewright_shape *x_shape = line->operands[0].shape;
    return product(line->w + (ptrdiff_t)row * shape->stride[4], shape->stride[5], x,
                   x_shape->stride[5], x_shape->extent[5], bias_of(line, row));
}

/* Row `row` of R times the state, plus the row's bias. */
static float state_part(const struct line *line, int32_t row, const uint8_t *h, int32_t h_step)
{
    const struct tilewright_shape *shape = line->operands[2].shape;
    return product(line->r + (ptrdiff_t)row * shape->stride[4], shape->stride[5], h, h_step,
                   line->units, bias_of(line, line->gates * line->units + row));
}

static void step_rnn(const struct line *line, const uint8_t *x)
{
    for (int32_t unit = 0; unit < line->units; unit++) {
        line->gate[unit] = activate(
            line, 0, input_part(line, unit, x) + state_part(line, unit, line->h, line->h_step));
    }
    for (int32_t unit = 0; unit < line->units; unit++) {
        tilewright_store_f32(line->h + (ptrdiff_t)unit * line->h_step, line->gate[unit]);
    }
}

static void step_gru(const struct line *line, const uint8_t *x)
{
    const int32_t units = line->units;
    for (int32_t row = 0; row < 2 * units; row++) {
        line->gate[row] = activate(
            line, 0, input_part(line, row, x) + state_part(line, row, line->h, line->h_step));
    }
    for (int32_t unit = 0; unit < units; unit++) {
        line->reset[unit] = line->gate[units + unit] *
                            tilewright_load_f32(line->h + (ptrdiff_t)unit * line->h_step);
    }
    for (int32_t unit = 0; unit < units; unit++) {
        const int32_t row = 2 * units + unit;
        const float state =
            line->attributes->linear_before_reset != 0
                ? line->gate[units + unit] * state_part(line, row, line->h, line->h_step)
                : state_part(line, row, (const uint8_t *)line->reset, 4);
        line->gate[row] = activate(line, 1, input_part(line, row, x) + state);
    }
    for (int32_t unit = 0; unit < units; unit++) {
        uint8_t *h = line->h + (ptrdiff_t)unit * line->h_step;
        const float z = line->gate[unit];
        tilewright_store_f32(h, (1.0f - z) * line->gate[2 * units + unit] +
                                    z * tilewright_load_f32(h));
    }
}

/* Gates in ONNX's order: input, output, forget, cell; peepholes: input, output, forget. */
static void step_lstm(const struct line *line, const uint8_t *x)
{
    const int32_t units = line->units;
    for (int32_t row = 0; row < 4 * units; row++) {
        line->gate[row] = input_part(line, row, x) + state_part(line, row, line->h, line->h_step);
    }
    for (int32_t unit = 0; unit < units; unit++) {
        uint8_t *c = line->c + (ptrdiff_t)unit * line->c_step;
        const float before = tilewright_load_f32(c);
        const float input = activate(line, 0, line->gate[unit] + peephole(line, 0, unit, before));
        const float forget =
            line->attributes->input_forget != 0
                ? 1.0f - input
                : activate(line, 0, line->gate[2 * units + unit] + peephole(line, 2, unit, before));
        float after = forget * before + input * activate(line, 1, line->gate[3 * units + unit]);
        if (line->attributes->cell_clip > 0.0f) {
            after =
                tilewright_clamp(after, -line->attributes->cell_clip, line->attributes->cell_clip);
        }
        const float output =
            activate(line, 0, line->gate[units + unit] + peephole(line, 1, unit, after));
        tilewright_store_f32(c, after);
        tilewright_store_f32(line->h + (ptrdiff_t)unit * line->h_step,
                             output * activate(line, 2, after));
    }
}

static void step(const struct line *line, const uint8_t *x)
{
    switch (line->attributes->cell) {
    case TILEWRIGHT_CELL_RNN:
        step_rnn(line, x);
        break;
    case TILEWRIGHT_CELL_GRU:
        step_gru(line, x);
        break;
    default:
        step_lstm(line, x);
        break;
    }
}

/* Address of [direction, entry] in an operand [direction, entry, unit]; both indices are positions
 * in the whole tensor. */
static uint8_t *state_at(const struct tilewright_view *view, int32_t direction, int32_t entry)
{
    return view->base + tilewright_axis_offset(view->shape, 3, direction) +
           tilewright_axis_offset(view->shape, 4, entry);
}

static void start(const struct line *line, int32_t entry, int32_t operand, uint8_t *state,
                  int32_t step_bytes)
{
    for (int32_t unit = 0; unit < line->units; unit++) {
        float value = 0.0f;
        if (operand >= 0) {
            const struct tilewright_view *view = &line->operands[operand];
            value = tilewright_load_f32(state_at(view, line->direction, entry) +
                                        (ptrdiff_t)unit * view->shape->stride[5]);
        }
        tilewright_store_f32(state + (ptrdiff_t)unit * step_bytes, value);
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
                             valid ? tilewright_load_f32(line->h + (ptrdiff_t)unit * line->h_step)
                                   : 0.0f);
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

static void run_entry(const struct line *line, int32_t entry)
{
    const struct tilewright_recurrent_f32_attributes *attributes = line->attributes;
    const struct tilewright_view *x = &line->operands[0];
    const int32_t steps = x->shape->extent[3];
    int32_t length = steps;

    if (attributes->lengths >= 0) {
        const struct tilewright_view *lengths = &line->operands[attributes->lengths];
        length = *(const int32_t *)(const void *)(lengths->base +
                                                  tilewright_axis_offset(lengths->shape, 5, entry));
        length = length < 0 ? 0 : (length > steps ? steps : length);
    }
    start(line, entry, attributes->initial_h, line->h, line->h_step);
    if (line->c != NULL) {
        start(line, entry, attributes->initial_c, line->c, line->c_step);
    }
    for (int32_t i = 0; i < length; i++) {
        const int32_t at = attributes->reverse[line->direction] != 0 ? length - 1 - i : i;
        if (counts(line, at, entry)) {
            step(line, x->base + tilewright_axis_offset(x->shape, 3, at) +
                           tilewright_axis_offset(x->shape, 4, entry));
        }
        write_output(line, at, entry, 1);
    }
    for (int32_t at = length; at < steps; at++) {
        write_output(line, at, entry, 0);
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
    const struct tilewright_view *y = &operands[attributes->outputs];
    const int lstm = attributes->cell == TILEWRIGHT_CELL_LSTM;
    const int32_t scratch = attributes->outputs + (lstm ? 3 : 2);
    struct line line = {attributes,
                        operands,
                        0,
                        y->shape->extent[5],
                        gates[attributes->cell],
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        0,
                        NULL,
                        0,
                        NULL,
                        NULL};

    (void)flags;
    line.gate = (float *)(void *)operands[scratch].base;
    line.reset = (float *)(void *)(operands[scratch].base + attributes->reset_at);
    line.h_step = operands[attributes->outputs + 1].shape->stride[5];
    line.c_step = lstm ? operands[attributes->outputs + 2].shape->stride[5] : 0;
    for (int32_t d = y->shape->origin[3]; d < y->shape->origin[3] + y->shape->extent[3]; d++) {
        line.direction = d;
        line.w = of_direction(operands, 1, 3, d);
        line.r = of_direction(operands, 2, 3, d);
        line.bias = of_direction(operands, attributes->bias, 4, d);
        line.peepholes = of_direction(operands, attributes->peepholes, 4, d);
        for (int32_t b = y->shape->origin[4]; b < y->shape->origin[4] + y->shape->extent[4]; b++) {
            line.h = state_at(&operands[attributes->outputs + 1], d, b);
            line.c = lstm ? state_at(&operands[attributes->outputs + 2], d, b) : NULL;
            run_entry(&line, b);
        }
    }
}
