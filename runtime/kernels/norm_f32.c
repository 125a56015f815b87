/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/norm_line_f32.h"
#include "tilewright/kernels/walk_lines.h"

enum { X, SCALE, BIAS };
enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

static void norm_line(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct tilewright_norm_f32 *norm = context;
    const float mean = norm->centred != 0 ? tilewright_norm_mean_f32(norm, x) : 0.0f;
    const float variance = tilewright_norm_variance_f32(norm, x, mean);
    const float root = TILEWRIGHT_ROOT(tilewright_float_add(variance, norm->epsilon));
    const float factor = tilewright_float_divide(1.0f, root);

    tilewright_norm_write_f32(norm, x, y, norm->count, mean, factor);
}

static void run(const struct tilewright_norm_f32_attributes *attributes,
                const struct tilewright_view *operands, int32_t centred)
{
    const struct tilewright_view *bias = attributes->biased != 0 ? &operands[BIAS] : NULL;
    const struct tilewright_view *y = &operands[bias != NULL ? BIAS + 1 : BIAS];
    const struct tilewright_norm_f32 norm = {operands[SCALE].base,
                                             bias == NULL ? NULL : bias->base,
                                             attributes->epsilon,
                                             centred,
                                             y->shape->extent[LAST],
                                             operands[X].shape->stride[LAST],
                                             operands[SCALE].shape->stride[LAST],
                                             bias == NULL ? 0 : bias->shape->stride[LAST],
                                             y->shape->stride[LAST]};

    tilewright_walk_lines(&operands[X], y, LAST, norm_line, &norm);
}

void tilewright_layer_norm_f32(const struct tilewright_norm_f32_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, operands, 1);
}

void tilewright_rms_norm_f32(const struct tilewright_norm_f32_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(attributes, operands, 0);
}
