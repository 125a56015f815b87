/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include <math.h>

#include "tilewright/kernels/float_math.h"
#include "tilewright/kernels/walk_lines.h"

enum { X, SCALE, BIAS };
enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

struct norm {
    const uint8_t *scale;
    const uint8_t *bias; /* null: none */
    float epsilon;
    int32_t centred;
    int32_t count;
    int32_t x_step, scale_step, bias_step, y_step;
};

static float mean_of(const struct norm *norm, const uint8_t *x)
{
    float sum = 0.0f;
    for (int32_t i = 0; i < norm->count; i++) {
        sum += tilewright_load_f32(x);
        x += norm->x_step;
    }
    return sum / (float)norm->count;
}

/* The variance as the mean of (x - mean)^2; mean(x^2) - mean^2 would lose digits if both are large.
 */
static float variance_of(const struct norm *norm, const uint8_t *x, float mean)
{
    float sum = 0.0f;
    for (int32_t i = 0; i < norm->count; i++) {
        const float centred = tilewright_load_f32(x) - mean;
        sum = tilewright_multiply_add(centred, centred, sum);
        x += norm->x_step;
    }
    return sum / (float)norm->count;
}

static void norm_line(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct norm *norm = context;
    const float mean = norm->centred != 0 ? mean_of(norm, x) : 0.0f;
    const float factor = 1.0f / sqrtf(variance_of(norm, x, mean) + norm->epsilon);
    const uint8_t *scale = norm->scale;
    const uint8_t *bias = norm->bias;

    for (int32_t i = 0; i < norm->count; i++) {
        const float normal = (tilewright_load_f32(x) - mean) * factor;
        float value = normal * tilewright_load_f32(scale);
        if (bias != NULL) {
            value += tilewright_load_f32(bias);
            bias += norm->bias_step;
        }
        tilewright_store_f32(y, value);
        x += norm->x_step;
        scale += norm->scale_step;
        y += norm->y_step;
    }
}

static void run(const struct tilewright_norm_f32_attributes *attributes,
                const struct tilewright_view *operands, int32_t centred)
{
    const struct tilewright_view *bias = attributes->biased != 0 ? &operands[BIAS] : NULL;
    const struct tilewright_view *y = &operands[bias != NULL ? BIAS + 1 : BIAS];
    const struct norm norm = {operands[SCALE].base,
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
