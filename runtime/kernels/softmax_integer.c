/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"

enum { X, TABLE, Y };

struct softmax {
    const struct tilewright_softmax_integer_attributes *attributes;
    const float *powers;
    int32_t count;
    int32_t stride_x, stride_y;
    int32_t flip;
};

/* `value` (0 to 2^22) rounded half to even: a float from 2^23 on has no bits for a fraction, so the
 * sum with 2^23 is rounded. */
static int32_t rounded(float value)
{
    union {
        float number;
        int32_t word;
    } sum;
    sum.number = value + 8388608.0f;
    return sum.word - 0x4b000000;
}

/* Position in memory, in strides of the axis, of index `index` of the tile, in a ring or not. */
static ptrdiff_t slot(const struct tilewright_shape *shape, int32_t axis, int32_t index)
{
    if (shape->ring_rows != 0 && shape->ring_axis == axis) {
        return (shape->origin[axis] + index) % shape->ring_rows;
    }
    return index;
}

static void softmax(const struct softmax *s, const uint8_t *x, uint8_t *y)
{
    const struct tilewright_softmax_integer_attributes *a = s->attributes;
    const uint8_t *at = x;
    int32_t largest = 0;
    float sum = 0.0f;

    for (int32_t i = 0; i < s->count; i++) {
        const int32_t value = *at ^ s->flip;
        largest = value > largest ? value : largest;
        at += s->stride_x;
    }
    at = x;
    for (int32_t i = 0; i < s->count; i++) {
        sum += s->powers[largest - (*at ^ s->flip)];
        at += s->stride_x;
    }
    for (int32_t i = 0; i < s->count; i++) {
        const float steps = s->powers[largest - (*x ^ s->flip)] * a->multiplier / sum;
        const int32_t value = rounded(steps < 4194304.0f ? steps : 4194304.0f) + a->zero_point;
        *y = (uint8_t)tilewright_limit(value, a->minimum, a->maximum);
        x += s->stride_x;
        y += s->stride_y;
    }
}

void tilewright_softmax_integer(const struct tilewright_softmax_integer_attributes *attributes,
                                const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const struct softmax context = {attributes,
                                    (const float *)(const void *)operands[TABLE].base,
                                    out->extent[attributes->axis],
                                    in->stride[attributes->axis],
                                    out->stride[attributes->axis],
                                    attributes->is_unsigned != 0 ? 0 : 0x80};
    int32_t index[TILEWRIGHT_MAX_RANK] = {0};
    int32_t axis;

    (void)flags;
    do {
        const uint8_t *x = operands[X].base;
        uint8_t *y = operands[Y].base;
        for (axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
            x += slot(in, axis, index[axis]) * in->stride[axis];
            y += slot(out, axis, index[axis]) * out->stride[axis];
        }
        softmax(&context, x, y);
        for (axis = TILEWRIGHT_MAX_RANK - 1; axis >= 0; axis--) {
            if (axis != attributes->axis && ++index[axis] < out->extent[axis]) {
                break;
            }
            index[axis] = 0;
        }
    } while (axis >= 0);
}
