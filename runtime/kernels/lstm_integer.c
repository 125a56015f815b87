/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/sigmoid_halves.h"

#include <stdbool.h>

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
    uint8_t *h;     /* int8 or int16 for each unit */
    int32_t units, inputs;
};

/* Functions with `wide`, for which callers pass a constant, work on x, h and y of int16, else of
 * int8. */
TILEWRIGHT_INLINE int32_t load(const uint8_t *at, const bool wide)
{
    return wide ? *(const int16_t *)(const void *)at : *(const int8_t *)at;
}

TILEWRIGHT_INLINE void store(uint8_t *at, int32_t value, const bool wide)
{
    if (wide) {
        *(int16_t *)(void *)at = (int16_t)value;
    } else {
        *(int8_t *)at = (int8_t)value;
    }
}

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

/* Adds the products of elements, which are `step` bytes apart, with the weights of each gate, which
 * lie side by side for each element. */
#define TILEWRIGHT_DEFINE_ADD_PRODUCTS(name, sum, wide)                                            \
    static void name(sum *sums, const uint8_t *x, int32_t step, const int8_t *weights,             \
                     int32_t count)                                                                \
    {                                                                                              \
        const int8_t *const end = weights + GATES * count;                                         \
        sum a = sums[0], b = sums[1], c = sums[2], d = sums[3];                                    \
        for (; weights != end; weights += GATES) {                                                 \
            const int32_t element = load(x, wide);                                                 \
            a += element * weights[0];                                                             \
            b += element * weights[1];                                                             \
            c += element * weights[2];                                                             \
            d += element * weights[3];                                                             \
            x += step;                                                                             \
        }                                                                                          \
        sums[0] = a;                                                                               \
        sums[1] = b;                                                                               \
        sums[2] = c;                                                                               \
        sums[3] = d;                                                                               \
    }

TILEWRIGHT_DEFINE_ADD_PRODUCTS(add_products, int32_t, false)
TILEWRIGHT_DEFINE_ADD_PRODUCTS(add_wide_products, int64_t, true)

/* A sum of 64 bits times factor `number` of 15 bits, rounded once. */
static int32_t factored_once(const struct lstm *lstm, int32_t number, int64_t sum)
{
    const int32_t *rule = (const int32_t *)(const void *)lstm->operands[RULES].base + 2 * number;
    const int64_t result = (sum * rule[0] + ((int64_t)1 << (rule[1] - 1))) >> rule[1];
    return result < INT16_MIN ? INT16_MIN : result > INT16_MAX ? INT16_MAX : (int32_t)result;
}

static int64_t joined(const int32_t *words)
{
    return (int64_t)((uint64_t)(uint32_t)words[0] | (uint64_t)(uint32_t)words[1] << 32);
}

/* Stores a gate of a unit, which the sum of both totals opens. */
static void open_gate(const struct lstm *lstm, int32_t gate, int32_t unit, int32_t total)
{
    const int32_t third = 3 * halves(total);
    lstm->gates[gate * lstm->units + unit] =
        (int16_t)(gate == CELL_GATE ? tilewright_tanh_halves(lstm->logistic, third)
                                    : tilewright_logistic_halves(lstm->logistic, third));
}

static void run_gates(const struct lstm *lstm, int32_t unit, const uint8_t *x, int32_t step,
                      const int8_t *w, const int8_t *r, const int32_t *bias)
{
    int32_t from_x[GATES], from_h[GATES];
    for (int32_t gate = 0; gate < GATES; gate++) {
        from_x[gate] = bias[2 * gate];
        from_h[gate] = bias[2 * gate + 1];
    }
    add_products(from_x, x, step, w, lstm->inputs);
    add_products(from_h, lstm->h, 1, r, lstm->units);
    for (int32_t gate = 0; gate < GATES; gate++) {
        open_gate(lstm, gate, unit,
                  halves(factored(lstm, gate, from_x[gate])) +
                      halves(factored(lstm, GATES + gate, from_h[gate])));
    }
}

static void run_wide_gates(const struct lstm *lstm, int32_t unit, const uint8_t *x, int32_t step,
                           const int8_t *w, const int8_t *r, const int32_t *bias)
{
    int64_t from_x[GATES], from_h[GATES];
    for (int32_t gate = 0; gate < GATES; gate++) {
        from_x[gate] = joined(bias + 2 * gate);
        from_h[gate] = 0;
    }
    add_wide_products(from_x, x, step, w, lstm->inputs);
    add_wide_products(from_h, lstm->h, 2, r, lstm->units);
    for (int32_t gate = 0; gate < GATES; gate++) {
        open_gate(lstm, gate, unit,
                  factored_once(lstm, gate, from_x[gate]) +
                      factored_once(lstm, GATES + gate, from_h[gate]));
    }
}

/* Computes the gates of all units from the inputs at `x` and the units before. */
TILEWRIGHT_INLINE void run_units_gates(const struct lstm *lstm, const uint8_t *x, const bool wide)
{
    const int32_t step = lstm->operands[X].shape->stride[UNIT];
    const int8_t *w = (const int8_t *)lstm->operands[X_WEIGHTS].base;
    const int8_t *r = (const int8_t *)lstm->operands[H_WEIGHTS].base;
    const int32_t *bias = (const int32_t *)(const void *)lstm->operands[BIASES].base;

    for (int32_t unit = 0; unit < lstm->units; unit++) {
        if (wide) {
            run_wide_gates(lstm, unit, x, step, w, r, bias);
        } else {
            run_gates(lstm, unit, x, step, w, r, bias);
        }
        w += GATES * lstm->inputs;
        r += GATES * lstm->units;
        bias += 2 * GATES;
    }
}

/* Computes cell and output of one unit from its gates. */
TILEWRIGHT_INLINE void run_unit(const struct lstm *lstm, int32_t unit, uint8_t *c, uint8_t *y,
                                const bool wide)
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
    const int32_t limited = wide ? halves(output) : tilewright_limit(output, INT8_MIN, INT8_MAX);
    store(lstm->h + (wide ? 2 * unit : unit), limited, wide);
    store(y, limited, wide);
}

/* Runs all steps of one entry, whose units are packed in `h` meanwhile. */
TILEWRIGHT_INLINE void run_entry(const struct lstm *lstm, int32_t entry, const bool wide)
{
    const struct tilewright_view *operands = lstm->operands;
    const struct tilewright_shape *y = operands[Y].shape;
    const uint8_t *h = operands[H].base + entry * operands[H].shape->stride[STATE_ENTRY];
    const uint8_t *c = operands[C].base + entry * operands[C].shape->stride[STATE_ENTRY];
    uint8_t *last_h = operands[LAST_H].base + entry * operands[LAST_H].shape->stride[STATE_ENTRY];
    uint8_t *last_c = operands[LAST_C].base + entry * operands[LAST_C].shape->stride[STATE_ENTRY];
    const int32_t c_step = operands[LAST_C].shape->stride[UNIT];

    for (int32_t unit = 0; unit < lstm->units; unit++) {
        store(lstm->h + (wide ? 2 * unit : unit),
              load(h + unit * operands[H].shape->stride[UNIT], wide), wide);
        *(int16_t *)(void *)(last_c + unit * c_step) =
            *(const int16_t *)(const void *)(c + unit * operands[C].shape->stride[UNIT]);
    }
    for (int32_t t = 0; t < y->extent[STEP]; t++) {
        const struct tilewright_shape *x = operands[X].shape;
        run_units_gates(lstm, operands[X].base + entry * x->stride[ENTRY] + t * x->stride[STEP],
                        wide);
        for (int32_t unit = 0; unit < lstm->units; unit++) {
            run_unit(lstm, unit, last_c + unit * c_step,
                     operands[Y].base + entry * y->stride[ENTRY] + t * y->stride[STEP] +
                         unit * y->stride[UNIT],
                     wide);
        }
    }
    for (int32_t unit = 0; unit < lstm->units; unit++) {
        store(last_h + unit * operands[LAST_H].shape->stride[UNIT],
              load(lstm->h + (wide ? 2 * unit : unit), wide), wide);
    }
}

TILEWRIGHT_INLINE void run(const struct tilewright_lstm_integer_attributes *attributes,
                           const struct tilewright_view *operands, const bool wide)
{
    const struct tilewright_shape *y = operands[Y].shape;
    int16_t *gates = (int16_t *)(void *)operands[SCRATCH].base;
    const struct lstm lstm = {attributes,
                              operands,
                              (const uint16_t *)(const void *)operands[LOGISTIC].base,
                              gates,
                              (uint8_t *)(gates + GATES * y->extent[UNIT]),
                              y->extent[UNIT],
                              operands[X].shape->extent[UNIT]};

    for (int32_t entry = 0; entry < y->extent[ENTRY]; entry++) {
        run_entry(&lstm, entry, wide);
    }
}

void tilewright_lstm_integer(const struct tilewright_lstm_integer_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, operands, false);
}

void tilewright_lstm_halves(const struct tilewright_lstm_integer_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, operands, true);
}
