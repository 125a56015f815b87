/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/sigmoid_halves.h"

enum { X, H, C, X_WEIGHTS, H_WEIGHTS, BIASES, RULES, LOGISTIC, Y, LAST_H, LAST_C, SCRATCH };
enum { GATES = 4, CELL_GATE = 2 };
enum { FORGET_CELL = 2 * GATES, INPUT_CELL, CELL_OUTPUT };
enum { ENTRY = TILEWRIGHT_MAX_RANK - 3, STEP, UNIT };
enum { STATE_ENTRY = TILEWRIGHT_MAX_RANK - 2 };

struct lstm {
    const struct tilewright_lstm_integer_attributes *attributes;
    const struct tilewright_view *operands;
    const uint16_t *logistic;
    int16_t *gates; /* [gate][unit] */
    int8_t *h;
    int32_t units, inputs;
};

/* value times factor `number`, rounded twice. */
static int32_t factored(const struct lstm *lstm, int32_t number, int32_t value)
{
    const int32_t *rule = (const int32_t *)(const void *)lstm->operands[RULES].base + 2 * number;
    const int32_t left = rule[1] > 0 ? rule[1] : 0;
    const int32_t high = tilewright_high_up((int32_t)((uint32_t)value << left), rule[0]);
    return tilewright_round_away(high, left - rule[1]);
}

static int32_t halves(int32_t value)
{
    return tilewright_limit(value, INT16_MIN, INT16_MAX);
}

static int32_t product(const uint8_t *x, int32_t step, const int8_t *weights, int32_t count)
{
    int32_t sum = 0;
    for (; count > 0; count--) {
        sum += *(const int8_t *)x * *weights++;
        x += step;
    }
    return sum;
}

/* Computes one gate of all units from the inputs at `x` and the units before. */
static void run_gate(const struct lstm *lstm, int32_t gate, const uint8_t *x)
{
    const int32_t units = lstm->units;
    const int32_t step = lstm->operands[X].shape->stride[UNIT];
    const int8_t *w = (const int8_t *)lstm->operands[X_WEIGHTS].base + gate * units * lstm->inputs;
    const int8_t *r = (const int8_t *)lstm->operands[H_WEIGHTS].base + gate * units * units;
    const int32_t *bias =
        (const int32_t *)(const void *)lstm->operands[BIASES].base + 2 * gate * units;

    for (int32_t unit = 0; unit < units; unit++) {
        const int32_t from_x = product(x, step, w, lstm->inputs) + bias[0];
        const int32_t from_h = product((const uint8_t *)lstm->h, 1, r, units) + bias[1];
        const int32_t total = halves(halves(factored(lstm, gate, from_x)) +
                                     halves(factored(lstm, GATES + gate, from_h)));
        lstm->gates[gate * units + unit] =
            (int16_t)(gate == CELL_GATE ? tilewright_tanh_halves(lstm->logistic, 3 * total)
                                        : tilewright_logistic_halves(lstm->logistic, 3 * total));
        w += lstm->inputs;
        r += units;
        bias += 2;
    }
}

/* Computes cell and output of one unit from its gates. */
static void run_unit(const struct lstm *lstm, int32_t unit, uint8_t *c, uint8_t *y)
{
    const struct tilewright_lstm_integer_attributes *a = lstm->attributes;
    const int16_t *gates = lstm->gates + unit;
    const int32_t units = lstm->units;
    const int32_t kept = gates[units] * *(const int16_t *)(const void *)c;
    const int32_t added = gates[0] * gates[CELL_GATE * units];
    int32_t cell = halves(halves(factored(lstm, FORGET_CELL, kept)) +
                          halves(factored(lstm, INPUT_CELL, added)));
    if (a->clip != 0) {
        cell = tilewright_limit(cell, -a->clip, a->clip);
    }
    *(int16_t *)(void *)c = (int16_t)cell;
    const int32_t half = a->cell_shift > 0 ? 1 << (a->cell_shift - 1) : 0;
    const int32_t shown =
        tilewright_tanh_halves(lstm->logistic, (cell * a->cell_multiplier + half) >> a->cell_shift);
    const int32_t output = factored(lstm, CELL_OUTPUT, shown * gates[3 * units]) + a->h_zero_point;
    lstm->h[unit] = (int8_t)tilewright_limit(output, INT8_MIN, INT8_MAX);
    *(int8_t *)y = lstm->h[unit];
}

/* Copies the units of one entry between views of int8 or int16 and packed bytes. */
static void run_entry(const struct lstm *lstm, int32_t entry)
{
    const struct tilewright_view *operands = lstm->operands;
    const struct tilewright_shape *y = operands[Y].shape;
    const uint8_t *h = operands[H].base + entry * operands[H].shape->stride[STATE_ENTRY];
    const uint8_t *c = operands[C].base + entry * operands[C].shape->stride[STATE_ENTRY];
    uint8_t *last_h = operands[LAST_H].base + entry * operands[LAST_H].shape->stride[STATE_ENTRY];
    uint8_t *last_c = operands[LAST_C].base + entry * operands[LAST_C].shape->stride[STATE_ENTRY];
    const int32_t c_step = operands[LAST_C].shape->stride[UNIT];

    for (int32_t unit = 0; unit < lstm->units; unit++) {
        lstm->h[unit] = *(const int8_t *)(h + unit * operands[H].shape->stride[UNIT]);
        *(int16_t *)(void *)(last_c + unit * c_step) =
            *(const int16_t *)(const void *)(c + unit * operands[C].shape->stride[UNIT]);
    }
    for (int32_t t = 0; t < y->extent[STEP]; t++) {
        const struct tilewright_shape *x = operands[X].shape;
        for (int32_t gate = 0; gate < GATES; gate++) {
            run_gate(lstm, gate, operands[X].base + entry * x->stride[ENTRY] + t * x->stride[STEP]);
        }
        for (int32_t unit = 0; unit < lstm->units; unit++) {
            run_unit(lstm, unit, last_c + unit * c_step,
                     operands[Y].base + entry * y->stride[ENTRY] + t * y->stride[STEP] +
                         unit * y->stride[UNIT]);
        }
    }
    for (int32_t unit = 0; unit < lstm->units; unit++) {
        *(int8_t *)(last_h + unit * operands[LAST_H].shape->stride[UNIT]) = lstm->h[unit];
    }
}

void tilewright_lstm_integer(const struct tilewright_lstm_integer_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *y = operands[Y].shape;
    int16_t *gates = (int16_t *)(void *)operands[SCRATCH].base;
    const struct lstm lstm = {attributes,
                              operands,
                              (const uint16_t *)(const void *)operands[LOGISTIC].base,
                              gates,
                              (int8_t *)(gates + GATES * y->extent[UNIT]),
                              y->extent[UNIT],
                              operands[X].shape->extent[UNIT]};

    (void)flags;
    for (int32_t entry = 0; entry < y->extent[ENTRY]; entry++) {
        run_entry(&lstm, entry);
    }
}
