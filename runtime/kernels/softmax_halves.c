/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/walk_lines.h"

enum { X, TABLES, Y };
enum { LAST = TILEWRIGHT_MAX_RANK - 1, ENTRIES = 513 };

struct softmax {
    const struct tilewright_softmax_halves_attributes *attributes;
    const int16_t *tables;
    int32_t count;
    int32_t x_stride, y_stride;
};

/* Interpolates in a table; `value` is limited to int16. */
static int32_t between(const int16_t *table, int32_t value)
{
    const int32_t at = tilewright_limit(value, INT16_MIN, INT16_MAX);
    const int16_t *entry = table + 256 + (at >> 7);
    return entry[0] + (((entry[1] - entry[0]) * (at & 0x7f) + 64) >> 7);
}

static void softmax(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct softmax *s = context;
    const uint8_t *from = x;
    uint8_t *to = y;
    int32_t largest = INT16_MIN;
    int32_t sum = 0;
    int32_t leading = 0;

    for (int32_t i = 0; i < s->count; i++) {
        const int32_t value = *(const int16_t *)(const void *)from;
        largest = value > largest ? value : largest;
        from += s->x_stride;
    }
    /* Powers stand in y until their sum is known. */
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t difference = *(const int16_t *)(const void *)x - largest;
        const int32_t high = tilewright_high_up(
            (int32_t)((uint32_t)difference << s->attributes->left), s->attributes->doubled);
        const int32_t power =
            between(s->tables, tilewright_round_away(high, s->attributes->right) + INT16_MAX);
        *(int16_t *)(void *)to = (int16_t)power;
        sum += power;
        x += s->x_stride;
        to += s->y_stride;
    }
    while (((uint32_t)sum << leading & 0x80000000u) == 0) {
        leading++;
    }
    /* 1 + fraction from 2^16 to 2^17. */
    const int32_t whole = (int32_t)((((int64_t)sum << (leading - 1)) + (1 << 13)) >> 14);
    const int32_t share = between(s->tables + ENTRIES, whole - 98304);
    const int32_t right = 31 - leading;
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t product = *(const int16_t *)(const void *)y * share;
        const int32_t level = (product + (1 << (right - 1))) >> right;
        *(int16_t *)(void *)y = (int16_t)tilewright_limit(level, 0, INT16_MAX);
        y += s->y_stride;
    }
}

void tilewright_softmax_halves(const struct tilewright_softmax_halves_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags)
{
    const struct softmax context = {
        attributes, (const int16_t *)(const void *)operands[TABLES].base,
        operands[Y].shape->extent[LAST], operands[X].shape->stride[LAST],
        operands[Y].shape->stride[LAST]};

    (void)flags;
    tilewright_walk_lines(&operands[X], &operands[Y], LAST, softmax, &context);
}
