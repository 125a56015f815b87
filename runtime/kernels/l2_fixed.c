/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/newton.h"
#include "tilewright/kernels/walk_lines.h"

enum { X, Y };
enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

struct l2 {
    const struct tilewright_l2_fixed_attributes *attributes;
    int32_t count;
    int32_t x_stride, y_stride;
};

static void normalise(const void *context, const uint8_t *x, uint8_t *y)
{
    const struct l2 *l2 = context;
    const int32_t flip = l2->attributes->is_unsigned != 0 ? 0 : 128;
    const int32_t zero = l2->attributes->x_zero_point + flip;
    const uint8_t *at = x;
    int32_t sum = 0;
    int32_t right = 0;

    for (int32_t i = 0; i < l2->count; i++) {
        const int32_t value = (*at ^ flip) - zero;
        sum += value * value;
        at += l2->x_stride;
    }
    const int32_t inverse = tilewright_inverse_root(sum, &right);
    /* Elements of uint8 are multiplied by 128 before they are rounded, those of int8 after. */
    const int32_t before = flip == 0 ? 7 : right < 7 ? 7 - right : 0;
    const int32_t behind = flip == 0 ? right : right < 7 ? 0 : right - 7;
    for (int32_t i = 0; i < l2->count; i++) {
        const int32_t value = ((*x ^ flip) - zero) * (1 << before);
        const int32_t level =
            tilewright_round_away(tilewright_high_product(value, inverse), behind);
        *y = (uint8_t)(tilewright_limit(level, -128, 127) + (128 - flip));
        x += l2->x_stride;
        y += l2->y_stride;
    }
}

void tilewright_l2_fixed(const struct tilewright_l2_fixed_attributes *attributes,
                         const struct tilewright_view *operands, uint32_t flags)
{
    const struct l2 context = {attributes, operands[Y].shape->extent[LAST],
                               operands[X].shape->stride[LAST], operands[Y].shape->stride[LAST]};

    (void)flags;
    tilewright_walk_lines(&operands[X], &operands[Y], LAST, normalise, &context);
}
