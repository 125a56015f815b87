/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/walk_lines.h"

enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

struct softmax {
    const struct tilewright_softmax_dialect_attributes *attributes;
    const uint32_t *powers;
    int32_t count;
    int32_t x_stride, y_stride;
};

/* An element as a number from 0 to 255; differences are the same as those of the stored elements.
 */
static int32_t element(const struct softmax *s, const uint8_t *x, int32_t index)
{
    return x[(ptrdiff_t)index * s->x_stride] ^ s->attributes->flip;
}

static int32_t largest_of(const struct softmax *s, const uint8_t *x, int32_t first, int32_t end,
                          int32_t largest)
{
    for (int32_t i = first; i < end; i++) {
        const int32_t value = element(s, x, i);
        largest = value > largest ? value : largest;
    }
    return largest;
}

static void table_line(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct softmax *s = context;
    const int32_t largest = largest_of(s, x, 0, s->count, 0);
    uint32_t sum = 0;

    for (int32_t i = 0; i < s->count; i++) {
        sum += s->powers[largest - element(s, x, i)];
    }
    for (int32_t i = 0; i < s->count; i++) {
        const uint32_t power = s->powers[largest - element(s, x, i)];
        y[(ptrdiff_t)i * s->y_stride] = (uint8_t)(power * (uint32_t)s->attributes->levels / sum);
    }
}

/* A row, and the terms of the powers that the table holds. */
struct polynomial {
    struct softmax row;
    const struct tilewright_softmax_powers_attributes *terms;
};

static uint32_t power_of(const struct tilewright_softmax_powers_attributes *p, int32_t difference)
{
    const int32_t quotient = difference / p->log2;
    const int32_t halvings = quotient < 31 ? quotient : 31;
    const int32_t rest = halvings * p->log2 - difference + p->b;
    return (uint32_t)(p->a * rest * rest + p->c) >> halvings;
}

static void powers_line(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct polynomial *p = context;
    const struct softmax *s = &p->row;
    const int32_t largest = largest_of(s, x, 0, s->count, 0);
    uint32_t sum = 0;

    for (int32_t i = 0; i < s->count; i++) {
        sum += power_of(p->terms, largest - element(s, x, i));
    }
    for (int32_t i = 0; i < s->count; i++) {
        const uint32_t power = power_of(p->terms, largest - element(s, x, i));
        y[(ptrdiff_t)i * s->y_stride] = (uint8_t)(power * (uint32_t)s->attributes->levels / sum);
    }
}

static int32_t shift_of(int32_t difference)
{
    return (difference + 16) >> 5;
}

static int32_t ita_sum(const struct softmax *s, const uint8_t *x, int32_t first, int32_t end,
                       int32_t largest)
{
    int32_t sum = 0;
    for (int32_t i = first; i < end; i++) {
        sum += 256 >> shift_of(largest - element(s, x, i));
    }
    return sum;
}

static void ita_finish(const struct softmax *s, const uint8_t *x, uint8_t *y, int32_t largest,
                       int32_t sum)
{
    const int32_t inverse = s->attributes->levels * 256 / sum;
    for (int32_t i = 0; i < s->count; i++) {
        y[(ptrdiff_t)i * s->y_stride] = (uint8_t)(inverse >> shift_of(largest - element(s, x, i)));
    }
}

static void ita_line(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct softmax *s = context;
    const int32_t largest = largest_of(s, x, 0, s->count, 0);
    ita_finish(s, x, y, largest, ita_sum(s, x, 0, s->count, largest));
}

static void ita_partial_line(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct softmax *s = context;
    int32_t largest = 0;
    int32_t sum = 0;

    for (int32_t first = 0; first < s->count; first += s->attributes->group) {
        const int32_t end = first + s->attributes->group;
        const int32_t raised = largest_of(s, x, first, end, largest);
        if (raised > largest) {
            sum >>= shift_of(raised - largest);
            largest = raised;
        }
        sum += ita_sum(s, x, first, end, largest);
    }
    ita_finish(s, x, y, largest, sum);
}

static void run(const struct tilewright_softmax_dialect_attributes *attributes,
                const struct tilewright_view *x, const struct tilewright_view *y,
                const uint8_t *powers, tilewright_pair_function line)
{
    const struct softmax context = {attributes, (const uint32_t *)(const void *)powers,
                                    y->shape->extent[LAST], x->shape->stride[LAST],
                                    y->shape->stride[LAST]};

    tilewright_walk_lines(x, y, LAST, line, &context);
}

void tilewright_softmax_table(const struct tilewright_softmax_dialect_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, &operands[0], &operands[2], operands[1].base, table_line);
}

void tilewright_softmax_powers(const struct tilewright_softmax_powers_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_view *x = &operands[0], *y = &operands[1];
    const struct tilewright_softmax_dialect_attributes plain = {attributes->flip,
                                                                attributes->levels, 0};
    const struct polynomial context = {
        {&plain, NULL, y->shape->extent[LAST], x->shape->stride[LAST], y->shape->stride[LAST]},
        attributes};
    (void)flags;
    tilewright_walk_lines(x, y, LAST, powers_line, &context);
}

void tilewright_ita_max(const struct tilewright_softmax_dialect_attributes *attributes,
                        const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, &operands[0], &operands[1], NULL, ita_line);
}

void tilewright_ita_partial_max(const struct tilewright_softmax_dialect_attributes *attributes,
                                const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, &operands[0], &operands[1], NULL, ita_partial_line);
}
