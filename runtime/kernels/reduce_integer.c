/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_line.h"
#include "tilewright/kernels/walk.h"

enum { X, Y, SCRATCH };

/* Adds elements of x to sums of 32 bits, or to sums of 64 bits in two words. */
TILEWRIGHT_INLINE void add_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                               const void *x_type, const int is_long)
{
    uint8_t *y = at[1];
    for (int32_t done = 0; done < count; done += TILEWRIGHT_LINE) {
        const int32_t length = tilewright_smaller(count - done, TILEWRIGHT_LINE);
        int32_t line[TILEWRIGHT_LINE];
        tilewright_line_load(line, at[0] + (ptrdiff_t)done * stride[0], stride[0], length,
                             *(const int32_t *)x_type, 0);
        for (int32_t i = 0; i < length; i++) {
            uint32_t *words = (uint32_t *)(void *)y;
            if (is_long) {
                const int64_t sum = (int64_t)((uint64_t)words[1] << 32 | words[0]) + line[i];
                words[0] = (uint32_t)sum;
                words[1] = (uint32_t)((uint64_t)sum >> 32);
            } else {
                words[0] += (uint32_t)line[i];
            }
            y += stride[1];
        }
    }
}

static void add_words(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    add_row(at, stride, count, context, 0);
}

static void add_longs(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    add_row(at, stride, count, context, 1);
}

static void clear_words(uint8_t *const *at, const int32_t *stride, int32_t count,
                        const void *context)
{
    (void)context;
    for (int32_t i = 0; i < count; i++) {
        *(uint32_t *)(void *)(at[0] + (ptrdiff_t)i * stride[0]) = 0;
    }
}

void tilewright_sum_integer(const struct tilewright_sum_integer_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags)
{
    struct tilewright_walk_operand walked[2];
    (void)flags;
    tilewright_walk_set(&walked[0], &operands[X], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[Y], NULL, NULL);
    tilewright_walk(&walked[1], 1, operands[Y].shape->extent, clear_words, NULL);
    /* Walks the box of x; the sums do not move on reduced axes. */
    tilewright_walk(walked, 2, operands[X].shape->extent, add_words, &attributes->x_type);
}

/* The walk's operand for scratch as a row-major array with y's extents; returns its number of
 * elements. */
static int32_t scratch_of(const struct tilewright_view *operands, int32_t element_bytes,
                          struct tilewright_walk_operand *scratch)
{
    const struct tilewright_shape *shape = operands[Y].shape;
    int32_t elements = 1;

    scratch->base = operands[SCRATCH].base;
    scratch->ring = NULL;
    for (int32_t axis = TILEWRIGHT_MAX_RANK - 1; axis >= 0; axis--) {
        scratch->stride[axis] = shape->extent[axis] == 1 ? 0 : elements * element_bytes;
        elements *= shape->extent[axis];
    }
    return elements;
}

static int64_t mean_of(const struct tilewright_mean_integer_attributes *a, int64_t sum)
{
    if (a->shift >= 0) {
        return (sum + (a->count >> 1)) >> a->shift;
    }
    return (sum < 0 ? sum - (a->count >> 1) : sum + (a->count >> 1)) / a->count;
}

static void store(uint8_t *y, int32_t x_type, int64_t value)
{
    switch (x_type) {
    case TILEWRIGHT_INT8:
    case TILEWRIGHT_UINT8:
        *y = (uint8_t)value;
        break;
    case TILEWRIGHT_INT32:
        *(uint32_t *)(void *)y = (uint32_t)value;
        break;
    default:
        *(uint16_t *)(void *)y = (uint16_t)value;
        break;
    }
}

static void finish_words(uint8_t *const *at, const int32_t *stride, int32_t count,
                         const void *context)
{
    const struct tilewright_mean_integer_attributes *a = context;
    for (int32_t i = 0; i < count; i++) {
        const uint8_t *sum = at[0] + (ptrdiff_t)i * stride[0];
        store(at[1] + (ptrdiff_t)i * stride[1], a->x_type,
              mean_of(a, *(const int32_t *)(const void *)sum));
    }
}

static void finish_longs(uint8_t *const *at, const int32_t *stride, int32_t count,
                         const void *context)
{
    const struct tilewright_mean_integer_attributes *a = context;
    for (int32_t i = 0; i < count; i++) {
        const uint32_t *words = (const uint32_t *)(const void *)(at[0] + (ptrdiff_t)i * stride[0]);
        store(at[1] + (ptrdiff_t)i * stride[1], a->x_type,
              mean_of(a, (int64_t)((uint64_t)words[1] << 32 | words[0])));
    }
}

static void mean(const struct tilewright_mean_integer_attributes *attributes,
                 const struct tilewright_view *operands, int32_t element_bytes,
                 tilewright_row_function add, tilewright_row_function finish)
{
    struct tilewright_walk_operand walked[2];
    const int32_t elements = scratch_of(operands, element_bytes, &walked[1]);
    uint32_t *words = (uint32_t *)(void *)operands[SCRATCH].base;

    for (int32_t i = 0; i < elements * (element_bytes / 4); i++) {
        words[i] = 0;
    }
    tilewright_walk_set(&walked[0], &operands[X], NULL, NULL);
    tilewright_walk(walked, 2, operands[X].shape->extent, add, &attributes->x_type);
    walked[0] = walked[1];
    tilewright_walk_set(&walked[1], &operands[Y], NULL, NULL);
    tilewright_walk(walked, 2, operands[Y].shape->extent, finish, attributes);
}

void tilewright_mean_integer(const struct tilewright_mean_integer_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    mean(attributes, operands, 4, add_words, finish_words);
}

void tilewright_mean_integer_wide(const struct tilewright_mean_integer_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    mean(attributes, operands, 8, add_longs, finish_longs);
}
