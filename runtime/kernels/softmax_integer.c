/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"

enum { X, TABLE, Y, PARTIAL };
enum { BLOCK = 1 << TILEWRIGHT_SOFTMAX_BLOCK_BITS }; /* powers behind a word that says which */

struct softmax {
    const struct tilewright_softmax_integer_attributes *attributes;
    const float *powers;
    int32_t count;
    int32_t stride_x, stride_y;
    int32_t flip;
    /* For parts of the table: */
    uint32_t flags;
    int32_t first, held; /* the differences of which powers are here */
    float *found;        /* the powers of the tile's elements, line by line */
};

typedef void (*line_function)(struct softmax *s, const uint8_t *x, uint8_t *y);

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

static int32_t largest_of(const struct softmax *s, const uint8_t *x)
{
    int32_t largest = 0;
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t value = *x ^ s->flip;
        largest = value > largest ? value : largest;
        x += s->stride_x;
    }
    return largest;
}

static uint8_t probability(const struct softmax *s, float power, float sum)
{
    const struct tilewright_softmax_integer_attributes *a = s->attributes;
    const float steps = power * a->multiplier / sum;
    const int32_t value = rounded(steps < 4194304.0f ? steps : 4194304.0f) + a->zero_point;
    return (uint8_t)tilewright_limit(value, a->minimum, a->maximum);
}

static void whole_line(struct softmax *s, const uint8_t *x, uint8_t *y)
{
    const int32_t largest = largest_of(s, x);
    const uint8_t *at = x;
    float sum = 0.0f;

    for (int32_t i = 0; i < s->count; i++) {
        sum += s->powers[largest - (*at ^ s->flip)];
        at += s->stride_x;
    }
    for (int32_t i = 0; i < s->count; i++) {
        *y = probability(s, s->powers[largest - (*x ^ s->flip)], sum);
        x += s->stride_x;
        y += s->stride_y;
    }
}

/* Looks up the powers that this part of the table has; behind the last part all are known. */
static void part_of_line(struct softmax *s, const uint8_t *x, uint8_t *y)
{
    const int32_t largest = largest_of(s, x);
    float *const found = s->found;
    float sum = 0.0f;

    for (int32_t i = 0; i < s->count; i++) {
        const int32_t at = largest - (*x ^ s->flip) - s->first;
        if (at >= 0 && at < s->held) {
            found[i] = s->powers[at / BLOCK * (BLOCK + 1) + 1 + at % BLOCK];
        }
        x += s->stride_x;
    }
    s->found += s->count;
    if ((s->flags & TILEWRIGHT_LAST) == 0) {
        return;
    }
    for (int32_t i = 0; i < s->count; i++) {
        sum += found[i];
    }
    for (int32_t i = 0; i < s->count; i++) {
        *y = probability(s, found[i], sum);
        y += s->stride_y;
    }
}

static void run(struct softmax *s, const struct tilewright_view *operands, line_function line)
{
    const struct tilewright_softmax_integer_attributes *attributes = s->attributes;
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    int32_t index[TILEWRIGHT_MAX_RANK] = {0};
    int32_t axis;

    s->powers = (const float *)(const void *)operands[TABLE].base;
    s->count = out->extent[attributes->axis];
    s->stride_x = in->stride[attributes->axis];
    s->stride_y = out->stride[attributes->axis];
    s->flip = attributes->is_unsigned != 0 ? 0 : 0x80;
    do {
        const uint8_t *x = operands[X].base;
        uint8_t *y = operands[Y].base;
        for (axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
            x += slot(in, axis, index[axis]) * in->stride[axis];
            y += slot(out, axis, index[axis]) * out->stride[axis];
        }
        line(s, x, y);
        for (axis = TILEWRIGHT_MAX_RANK - 1; axis >= 0; axis--) {
            if (axis != attributes->axis && ++index[axis] < out->extent[axis]) {
                break;
            }
            index[axis] = 0;
        }
    } while (axis >= 0);
}

void tilewright_softmax_integer(const struct tilewright_softmax_integer_attributes *attributes,
                                const struct tilewright_view *operands, uint32_t flags)
{
    struct softmax s = {.attributes = attributes, .flags = flags};
    run(&s, operands, whole_line);
}

void tilewright_softmax_integer_parts(
    const struct tilewright_softmax_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    const uint32_t head = *(const uint32_t *)(const void *)operands[TABLE].base;
    struct softmax s = {.attributes = attributes, .flags = flags};
    s.first = (int32_t)(head & 0xffffu);
    s.held = (int32_t)(head >> 16);
    s.found = (float *)(void *)operands[PARTIAL].base;
    run(&s, operands, part_of_line);
}
