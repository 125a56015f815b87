/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/pool_f32.h"

TILEWRIGHT_INLINE float larger(float best, float x)
{
    /* x also counts as larger if x is NaN; the first NaN stays. */
    if (!tilewright_float_at_most(x, best) && !tilewright_float_is_nan(best)) {
        return x;
    }
    return best;
}

static float negative_infinity(void)
{
    const union {
        uint32_t bits;
        float value;
    } infinity = {0xff800000u};
    return infinity.value;
}

static void run_position(const struct tilewright_pool_f32 *pool,
                         const struct tilewright_pool_window *window, const void *context,
                         const struct tilewright_shape *y_shape, uint8_t *y)
{
    (void)context;
    tilewright_pool_fold(pool, window, y_shape, y, negative_infinity(), larger, NULL);
}

void tilewright_max_pool_f32(const struct tilewright_max_pool_f32_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_pool_f32 pool = TILEWRIGHT_POOL_F32(operands, attributes);
    (void)flags;
    tilewright_pool_positions(&pool, operands, run_position, attributes);
}
