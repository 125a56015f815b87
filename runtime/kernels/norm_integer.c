/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/norm_line.h"
#include "tilewright/kernels/walk_lines.h"

enum { X, W, B };
enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

static void norm_line(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct tilewright_norm *norm = context;
    const int32_t mean = norm->b == NULL ? 0 : tilewright_norm_mean(norm, x);
    const int32_t deviation = tilewright_norm_deviation(norm, x, mean);

    tilewright_norm_write(norm, x, y, &norm->count, mean, deviation);
}

static void run(const struct tilewright_norm_integer_attributes *attributes,
                const struct tilewright_view *operands, const struct tilewright_view *b,
                const struct tilewright_view *y)
{
    const struct tilewright_norm norm = {attributes,
                                         operands[W].base,
                                         b == NULL ? NULL : b->base,
                                         y->shape->extent[LAST],
                                         operands[X].shape->stride[LAST],
                                         operands[W].shape->stride[LAST],
                                         b == NULL ? 0 : b->shape->stride[LAST],
                                         y->shape->stride[LAST]};

    tilewright_walk_lines(&operands[X], y, LAST, norm_line, &norm);
}

void tilewright_layer_norm_integer(const struct tilewright_norm_integer_attributes *attributes,
                                   const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, operands, &operands[B], &operands[B + 1]);
}

void tilewright_rms_norm_integer(const struct tilewright_norm_integer_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, operands, NULL, &operands[W + 1]);
}
