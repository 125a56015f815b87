/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/pool_f32.h"

TILEWRIGHT_INLINE float plus(float sum, float x)
{
    return tilewright_float_add(sum, x);
}

/* The number of taps on one axis that the divisor counts: those in the input, or with include_pads
 * all below limits[axis]. Taps in the padding before the input are always below it. */
static int32_t counted(const struct tilewright_average_pool_f32_attributes *attributes,
                       int32_t axis, const struct tilewright_window *window)
{
    int32_t taps = attributes->kernel[axis];
    if (attributes->include_pads == 0) {
        return window->end - window->first;
    }
    while (taps > 0 &&
           window->start + (taps - 1) * attributes->dilations[axis] >= attributes->limits[axis]) {
        taps--;
    }
    return taps;
}

static void run_position(const struct tilewright_pool_f32 *pool,
                         const struct tilewright_pool_window *window, const void *context,
                         const struct tilewright_shape *y_shape, uint8_t *y)
{
    const struct tilewright_average_pool_f32_attributes *attributes = context;
    const int32_t taps =
        counted(attributes, 0, &window->rows) * counted(attributes, 1, &window->columns);
    const float divisor = taps > 0 ? (float)taps : 1.0f;
    tilewright_pool_fold(pool, window, y_shape, y, 0.0f, plus, &divisor);
}

void tilewright_average_pool_f32(const struct tilewright_average_pool_f32_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_pool_f32 pool = TILEWRIGHT_POOL_F32(operands, attributes);
    (void)flags;
    tilewright_pool_positions(&pool, operands, run_position, attributes);
}
