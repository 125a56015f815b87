/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/nd_windows.h"

/* An element as float, which is exact for each of the types. */
static float element(const uint8_t *at, int32_t type)
{
    if (type == TILEWRIGHT_FLOAT32) {
        return tilewright_load_f32(at);
    }
    return type == TILEWRIGHT_INT8 ? (float)*(const int8_t *)(const void *)at : (float)*at;
}

/* Writes the spatial position of the window's largest element, of equal elements the first. */
static void find(const struct tilewright_max_pool_indices_attributes *attributes,
                 const struct tilewright_shape *x_shape, const struct tilewright_window *windows,
                 const uint8_t *x, int32_t *best_at)
{
    float best = 0.0f;
    int found = 0;
    for (int32_t kd = windows[0].first; kd < windows[0].end; kd++) {
        for (int32_t kh = windows[1].first; kh < windows[1].end; kh++) {
            for (int32_t kw = windows[2].first; kw < windows[2].end; kw++) {
                const int32_t at[3] = {windows[0].start + kd * attributes->dilations[0],
                                       windows[1].start + kh * attributes->dilations[1],
                                       windows[2].start + kw * attributes->dilations[2]};
                const float value =
                    element(x + tilewright_nd_offset(x_shape, at), attributes->x_type);
                if (found == 0 || value > best) {
                    found = 1;
                    best = value;
                    best_at[0] = at[0];
                    best_at[1] = at[1];
                    best_at[2] = at[2];
                }
            }
        }
    }
}

TILEWRIGHT_INLINE void pool(const void *given, const struct tilewright_view *operands,
                            const struct tilewright_nd_output *output)
{
    const struct tilewright_max_pool_indices_attributes *attributes = given;
    const struct tilewright_shape *x = operands[0].shape;
    const struct tilewright_view *indices = &operands[2];
    const int64_t image = (int64_t)output->n * attributes->channels + output->channel;
    int32_t best[3] = {x->origin[3], x->origin[4], x->origin[5]};
    find(attributes, x, output->windows, output->x, best);
    const uint8_t *largest = output->x + tilewright_nd_offset(x, best);
    if (attributes->x_type == TILEWRIGHT_FLOAT32) {
        tilewright_store_f32(output->y, tilewright_load_f32(largest));
    } else {
        *output->y = *largest;
    }
    uint8_t *to = indices->base + tilewright_nd_plane(indices->shape, output->n, output->channel) +
                  tilewright_nd_offset(indices->shape, output->at);
    *(int64_t *)(void *)to = image * attributes->image + (int64_t)best[0] * attributes->steps[0] +
                             (int64_t)best[1] * attributes->steps[1] +
                             (int64_t)best[2] * attributes->steps[2];
}

void tilewright_max_pool_indices(const struct tilewright_max_pool_indices_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_geometry geometry = {attributes->kernel, attributes->strides,
                                                 attributes->dilations, attributes->pads};
    (void)flags;
    tilewright_nd_pool(&geometry, operands, pool, attributes);
}
