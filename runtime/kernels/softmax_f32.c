/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/power_f32.h"
#include "tilewright/kernels/walk_lines.h"

struct softmax {
    const struct tilewright_softmax_f32_attributes *attributes;
    int32_t count;
    int32_t x_step;
    int32_t y_step;
};

static void run_line(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct softmax *softmax = context;
    float largest = tilewright_load_f32(x);
    float sum = 0.0f;

    for (int32_t i = 1; i < softmax->count; i++) {
        const float value = tilewright_load_f32(x + i * softmax->x_step);
        largest = tilewright_float_less(largest, value) ? value : largest;
    }
    for (int32_t i = 0; i < softmax->count; i++) {
        const float value = tilewright_load_f32(x + i * softmax->x_step);
        const float power = tilewright_exp(tilewright_float_subtract(value, largest));
        tilewright_store_f32(y + i * softmax->y_step, power);
        sum = tilewright_float_add(sum, power);
    }
    const float share = tilewright_float_divide(tilewright_float_constant(1.0f), sum);
    for (int32_t i = 0; i < softmax->count; i++) {
        uint8_t *at = y + i * softmax->y_step;
        tilewright_store_f32(
            at, tilewright_clamp(tilewright_float_multiply(tilewright_load_f32(at), share),
                                 softmax->attributes->minimum, softmax->attributes->maximum));
    }
}

void tilewright_softmax_f32(const struct tilewright_softmax_f32_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags)
{
    const int32_t axis = attributes->axis;
    const struct tilewright_shape *x = operands[0].shape;
    const struct tilewright_shape *y = operands[1].shape;
    const struct softmax softmax = {attributes, y->extent[axis], x->stride[axis], y->stride[axis]};

    (void)flags;
    tilewright_walk_lines(&operands[0], &operands[1], axis, run_line, &softmax);
}
