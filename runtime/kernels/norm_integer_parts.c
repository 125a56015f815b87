/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

/* A quarter of a line, since the stack has frames of two functions here. */
#define TILEWRIGHT_NORM_PIECE (TILEWRIGHT_LINE / 4)
#include "tilewright/kernels/norm_line.h"
#include "tilewright/kernels/walk_lines.h"

enum { X, W, B };
enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

/* A line of x, and the shape of y, which says from where and how many elements are normalised. */
struct part {
    struct tilewright_norm norm;
    const struct tilewright_shape *y;
};

/* Deviation and mean of a line as the words of one number, which takes no stack. These and the
 * results have frames of their own, which the stack holds one after the other. */
static TILEWRIGHT_NOINLINE uint64_t moments_of(const struct tilewright_norm *norm, const uint8_t *x)
{
    const int32_t mean = norm->b == NULL ? 0 : tilewright_norm_mean(norm, x);
    return (uint64_t)(uint32_t)tilewright_norm_deviation(norm, x, mean) << 32 | (uint32_t)mean;
}

static TILEWRIGHT_NOINLINE void write_part(const struct part *part, const uint8_t *x, uint8_t *y,
                                           uint64_t moments)
{
    const int32_t first = part->y->origin[LAST];
    tilewright_norm_write(&part->norm, x + (ptrdiff_t)first * part->norm.x_stride, y,
                          &part->y->extent[LAST], (int32_t)(uint32_t)moments,
                          (int32_t)(moments >> 32));
}

static void part_line(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct part *part = context;

    write_part(part, x, y, moments_of(&part->norm, x));
}

static void run(const struct tilewright_norm_integer_attributes *attributes,
                const struct tilewright_view *operands, const struct tilewright_view *b,
                const struct tilewright_view *y)
{
    const struct part part = {{attributes, operands[W].base, b == NULL ? NULL : b->base,
                               operands[X].shape->extent[LAST], operands[X].shape->stride[LAST],
                               operands[W].shape->stride[LAST],
                               b == NULL ? 0 : b->shape->stride[LAST], y->shape->stride[LAST]},
                              y->shape};

    tilewright_walk_lines(&operands[X], y, LAST, part_line, &part);
}

void tilewright_layer_norm_integer_parts(
    const struct tilewright_norm_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, operands, &operands[B], &operands[B + 1]);
}

void tilewright_rms_norm_integer_parts(const struct tilewright_norm_integer_attributes *attributes,
                                       const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, operands, NULL, &operands[W + 1]);
}
