/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/elementwise_f32.h"

enum { X, INDICES, WEIGHTS, Y };

struct interpolation {
    const struct tilewright_interpolate_f32_attributes *attributes;
    const int32_t *indices;
    const float *weights;
    const struct tilewright_shape *x;
    const struct tilewright_shape *y;
};

/* A run of elements beside each other, of all positions on the axis but one. */
struct run {
    int32_t count;
    int32_t x_step, y_step;
};

/* y = w * a + v * b, plus what y holds where it `adds`. */
static TILEWRIGHT_NOINLINE void add_two(const struct run *run, const uint8_t *a, const uint8_t *b,
                                        uint8_t *y, float w, float v, int32_t adds)
{
    const int32_t x_step = run->x_step;
    const int32_t y_step = run->y_step;
    int32_t count = run->count;

    if (adds != 0) {
        for (; count > 0; count--) {
            const float sum =
                tilewright_multiply_add(w, tilewright_load_f32(a), tilewright_load_f32(y));
            tilewright_store_f32(y, tilewright_multiply_add(v, tilewright_load_f32(b), sum));
            a += x_step;
            b += x_step;
            y += y_step;
        }
        return;
    }
    TILEWRIGHT_UNROLL_4
    for (; count > 0; count--) {
        const float product = tilewright_float_multiply(w, tilewright_load_f32(a));
        tilewright_store_f32(y, tilewright_multiply_add(v, tilewright_load_f32(b), product));
        a += x_step;
        b += x_step;
        y += y_step;
    }
}

static void fill(const struct run *run, uint8_t *y, float value)
{
    for (int32_t i = 0; i < run->count; i++) {
        tilewright_store_f32(y, value);
        y += run->y_step;
    }
}

/* Computes a run of y at one position on the axis; taps without weight come last. */
static void run_position(const struct interpolation *to, const struct run *run, const uint8_t *x,
                         uint8_t *y, const int32_t *index, const float *weight)
{
    const int32_t axis = to->attributes->axis;
    const int32_t taps = to->attributes->taps;

    if (index[0] < 0 || weight[0] == 0.0f) {
        fill(run, y, index[0] < 0 ? to->attributes->outside : 0.0f);
        return;
    }
    for (int32_t t = 0; t < taps && weight[t] != 0.0f; t += 2) {
        const uint8_t *a = x + tilewright_axis_offset(to->x, axis, index[t]);
        if (t + 1 < taps && weight[t + 1] != 0.0f) {
            const uint8_t *b = x + tilewright_axis_offset(to->x, axis, index[t + 1]);
            add_two(run, a, b, y, weight[t], weight[t + 1], t);
        } else {
            /* Half of it twice: infinity times 0 would not be a number. */
            const float half = tilewright_float_multiply(0.5f, weight[t]);
            add_two(run, a, a, y, half, half, t);
        }
    }
}

static void run_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct interpolation *to = context;
    const struct run run = {count, stride[0], stride[1]};
    const int32_t axis = to->attributes->axis;
    const int32_t *index = to->indices;
    const float *weight = to->weights;

    for (int32_t i = 0; i < to->y->extent[axis]; i++) {
        run_position(to, &run, at[0],
                     at[1] + tilewright_axis_offset(to->y, axis, to->y->origin[axis] + i), index,
                     weight);
        index += to->attributes->taps;
        weight += to->attributes->taps;
    }
}

/* Sets an operand that does not move along the axis, from the view's base on. */
static void set_still(struct tilewright_walk_operand *operand, const struct tilewright_view *view,
                      int32_t axis)
{
    tilewright_walk_set(operand, view, NULL, NULL);
    operand->stride[axis] = 0;
    if (operand->ring != NULL && operand->ring->ring_axis == axis) {
        operand->ring = NULL;
    }
}

void tilewright_interpolate_f32(const struct tilewright_interpolate_f32_attributes *attributes,
                                const struct tilewright_view *operands, uint32_t flags)
{
    const struct interpolation to = {
        attributes, (const int32_t *)(const void *)operands[INDICES].base,
        (const float *)(const void *)operands[WEIGHTS].base, operands[X].shape, operands[Y].shape};
    struct tilewright_walk_operand walked[2];
    int32_t extent[TILEWRIGHT_MAX_RANK];

    (void)flags;
    for (int32_t i = 0; i < TILEWRIGHT_MAX_RANK; i++) {
        extent[i] = i == attributes->axis ? 1 : to.y->extent[i];
    }
    set_still(&walked[0], &operands[X], attributes->axis);
    set_still(&walked[1], &operands[Y], attributes->axis);
    tilewright_walk(walked, 2, extent, run_row, &to);
}
