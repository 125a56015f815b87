/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/elementwise_f32.h"

/* A row whose elements of x and y lie side by side. Those of the factor and the summand do too, or
 * `same` is 1 and one of each serves the row. Callers pass constants for `same` and `raises`, which
 * says whether results have a lower bound; none has an upper one. */
TILEWRIGHT_INLINE void row_beside(uint8_t *const *at, int32_t count, int same, int raises,
                                  float minimum)
{
    const uint8_t *x = at[0];
    const uint8_t *factor = at[1];
    const uint8_t *summand = at[2];
    uint8_t *y = at[3];
    float a = tilewright_load_f32(factor);
    float b = tilewright_load_f32(summand);
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < count; i++) {
        if (!same) {
            a = tilewright_load_f32(factor);
            b = tilewright_load_f32(summand);
            factor += 4;
            summand += 4;
        }
        const float value = tilewright_multiply_add(tilewright_load_f32(x), a, b);
        tilewright_store_f32(y, raises ? tilewright_raise(value, minimum) : value);
        x += 4;
        y += 4;
    }
}

/* row_beside() where that serves; otherwise 0, and nothing is done. */
TILEWRIGHT_INLINE int is_done_beside(uint8_t *const *at, const int32_t *stride, int32_t count,
                                     const struct tilewright_clamp_f32_attributes *clamp)
{
    const int same = stride[1] == 0 && stride[2] == 0;
    if (!tilewright_is_open_above(clamp->maximum) || stride[0] != 4 || stride[3] != 4 ||
        (!same && (stride[1] != 4 || stride[2] != 4))) {
        return 0;
    }
    if (!tilewright_is_unclamped(clamp->minimum, clamp->maximum)) {
        if (same) {
            row_beside(at, count, 1, 1, clamp->minimum);
        } else {
            row_beside(at, count, 0, 1, clamp->minimum);
        }
    } else if (same) {
        row_beside(at, count, 1, 0, clamp->minimum);
    } else {
        row_beside(at, count, 0, 0, clamp->minimum);
    }
    return 1;
}

static void row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_clamp_f32_attributes *clamp = context;
    const uint8_t *x = at[0];
    const uint8_t *factor = at[1];
    const uint8_t *summand = at[2];
    uint8_t *y = at[3];
    if (is_done_beside(at, stride, count, clamp)) {
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        const float value = tilewright_multiply_add(
            tilewright_load_f32(x), tilewright_load_f32(factor), tilewright_load_f32(summand));
        tilewright_store_f32(y, tilewright_clamp(value, clamp->minimum, clamp->maximum));
        x += stride[0];
        factor += stride[1];
        summand += stride[2];
        y += stride[3];
    }
}

void tilewright_mul_add_f32(const struct tilewright_clamp_f32_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_elementwise(operands, 4, row, attributes);
}
