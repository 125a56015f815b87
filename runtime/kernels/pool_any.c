/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/reduce.h"

#include "tilewright/kernels/nd_windows.h"

enum { D = TILEWRIGHT_ND_SPATIAL };

/* The number of taps on one axis that the divisor counts: those in the input, or also those in its
 * padding. */
static int32_t counted(const struct tilewright_pool_any_attributes *attributes,
                       const struct tilewright_window *window, int32_t i)
{
    int32_t count = 0;
    if (attributes->include_pads == 0) {
        return window->end - window->first;
    }
    for (int32_t k = 0; k < attributes->kernel[i]; k++) {
        count += window->start + k * attributes->dilations[i] < attributes->limits[i];
    }
    return count;
}

TILEWRIGHT_INLINE void pool(const void *given, const struct tilewright_view *operands,
                            const struct tilewright_nd_output *output)
{
    const struct tilewright_pool_any_attributes *attributes = given;
    const struct tilewright_shape *x_shape = operands[0].shape;
    const struct tilewright_window *windows = output->windows;
    struct tilewright_reduction state = {0};
    const int32_t length = windows[2].end - windows[2].first;
    state.real = 0.0f;
    state.largest = attributes->power;
    state.count = (int64_t)counted(attributes, &windows[0], 0) *
                  counted(attributes, &windows[1], 1) * counted(attributes, &windows[2], 2);
    state.count = state.count == 0 ? 1 : state.count;
    attributes->reducer->begin(&state);
    for (int32_t kd = windows[0].first; kd < windows[0].end; kd++) {
        for (int32_t kh = windows[1].first; kh < windows[1].end; kh++) {
            const int32_t at[3] = {windows[0].start + kd * attributes->dilations[0],
                                   windows[1].start + kh * attributes->dilations[1],
                                   windows[2].start + windows[2].first * attributes->dilations[2]};
            if (length > 0) {
                attributes->reducer->line(&state, output->x + tilewright_nd_offset(x_shape, at),
                                          attributes->dilations[2] * x_shape->stride[D + 2],
                                          length);
            }
        }
    }
    attributes->reducer->end(&state, output->y);
    if (attributes->clamped != 0) {
        const float y = tilewright_load_f32(output->y);
        tilewright_store_f32(output->y,
                             tilewright_clamp(y, attributes->minimum, attributes->maximum));
    }
}

void tilewright_pool_any(const struct tilewright_pool_any_attributes *attributes,
                         const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_geometry geometry = {attributes->kernel, attributes->strides,
                                                 attributes->dilations, attributes->pads};
    (void)flags;
    tilewright_nd_pool(&geometry, operands, pool, attributes);
}
