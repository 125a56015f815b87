/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_math.h"
#include "tilewright/kernels/walk_lines.h"

struct lines {
    const struct tilewright_interpolate_f32_attributes *attributes;
    const int32_t *indices;
    const float *weights;
    int32_t x_step;
    int32_t y_step;
    int32_t outputs;
};

static void run_line(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct lines *lines = context;
    const int32_t taps = lines->attributes->taps;
    const int32_t *index = lines->indices;
    const float *weight = lines->weights;
    for (int32_t o = 0; o < lines->outputs; o++) {
        float sum = 0.0f;
        for (int32_t t = 0; t < taps; t++) {
            if (weight[t] != 0.0f) {
                sum = tilewright_float_add(
                    sum,
                    tilewright_float_multiply(
                        weight[t], tilewright_load_f32(x + (ptrdiff_t)index[t] * lines->x_step)));
            }
        }
        tilewright_store_f32(y, index[0] < 0 ? lines->attributes->outside : sum);
        index += taps;
        weight += taps;
        y += lines->y_step;
    }
}

void tilewright_interpolate_f32(const struct tilewright_interpolate_f32_attributes *attributes,
                                const struct tilewright_view *operands, uint32_t flags)
{
    const int32_t axis = attributes->axis;
    const struct tilewright_shape *y = operands[3].shape;
    const struct lines lines = {attributes,
                                (const int32_t *)(const void *)operands[1].base,
                                (const float *)(const void *)operands[2].base,
                                operands[0].shape->stride[axis],
                                y->stride[axis],
                                y->extent[axis]};

    (void)flags;
    tilewright_walk_lines(&operands[0], &operands[3], axis, run_line, &lines);
}
