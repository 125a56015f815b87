/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/nd_windows.h"

enum { N = TILEWRIGHT_ND_N, C = TILEWRIGHT_ND_C };

/* An element as float, which is exact for each of the types. */
static float element(const uint8_t *at, int32_t kind)
{
    if (kind == 0) {
        return tilewright_load_f32(at);
    }
    return kind == 1 ? (float)*(const int8_t *)(const void *)at : (float)*at;
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
                    element(x + tilewright_nd_offset(x_shape, at), attributes->element);
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

void tilewright_max_pool_indices(const struct tilewright_max_pool_indices_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *x = operands[0].shape;
    const struct tilewright_shape *y = operands[1].shape;
    const struct tilewright_nd_geometry geometry = {attributes->kernel, attributes->strides,
                                                    attributes->dilations, attributes->pads};
    struct tilewright_window windows[3];
    int32_t at[3];

    (void)flags;
    for (int32_t n = y->origin[N]; n < y->origin[N] + y->extent[N]; n++) {
        for (int32_t channel = y->origin[C]; channel < y->origin[C] + y->extent[C]; channel++) {
            const uint8_t *from = operands[0].base + tilewright_axis_offset(x, N, n) +
                                  tilewright_axis_offset(x, C, channel);
            const int64_t image = (int64_t)n * attributes->channels + channel;
            tilewright_nd_first(y, at);
            do {
                int32_t best[3] = {x->origin[3], x->origin[4], x->origin[5]};
                const ptrdiff_t outer = tilewright_axis_offset(y, N, n) +
                                        tilewright_axis_offset(y, C, channel) +
                                        tilewright_nd_offset(y, at);
                const ptrdiff_t inner = tilewright_axis_offset(operands[2].shape, N, n) +
                                        tilewright_axis_offset(operands[2].shape, C, channel) +
                                        tilewright_nd_offset(operands[2].shape, at);
                tilewright_nd_windows(&geometry, x, at, windows);
                find(attributes, x, windows, from, best);
                const uint8_t *largest = from + tilewright_nd_offset(x, best);
                if (attributes->element == 0) {
                    tilewright_store_f32(operands[1].base + outer, tilewright_load_f32(largest));
                } else {
                    operands[1].base[outer] = *largest;
                }
                *(int64_t *)(void *)(operands[2].base + inner) =
                    image * attributes->image + (int64_t)best[0] * attributes->steps[0] +
                    (int64_t)best[1] * attributes->steps[1] +
                    (int64_t)best[2] * attributes->steps[2];
            } while (tilewright_nd_next(y, at));
        }
    }
}
