/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/walk_lines.h"

enum { X, Y };
enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

struct l2 {
    const struct tilewright_l2_fixed_attributes *attributes;
    int32_t count;
    int32_t x_stride, y_stride;
};

/* a * b / 2^31, rounded half up. */
static int32_t high_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}

/* value * 2^shift, limited to 32 bits. */
static int32_t shifted(int32_t value, int32_t shift)
{
    return tilewright_limit((int64_t)value * (1 << shift), INT32_MIN, INT32_MAX);
}

/* q with q / 2^31 / 2^shift next to 1 / sqrt(x): five steps of Newton and Raphson on Q3.28. */
static int32_t inverse_root(int32_t x, int32_t *shift)
{
    int32_t root = 1 << 28;
    *shift = 0;
    if (x <= 1) {
        return INT32_MAX;
    }
    *shift = 11;
    while (x >= 1 << 29) {
        x /= 4;
        *shift += 1;
    }
    while (x < 1 << 27) {
        x *= 4;
        *shift -= 1;
    }
    const int32_t half = ((x >> 1) + 1) >> 1;
    for (int32_t i = 0; i < 5; i++) {
        const int32_t cube = shifted(high_product(high_product(root, root), root), 6);
        root = shifted(high_product(3 << 27, root) - high_product(half, cube), 3);
    }
    root = high_product(root, 1518500250);
    if (*shift < 0) {
        root = (int32_t)((uint32_t)root << -*shift);
        *shift = 0;
    }
    return root;
}

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
    const int32_t inverse = inverse_root(sum, &right);
    /* Elements of uint8 are multiplied by 128 before they are rounded, those of int8 after. */
    const int32_t before = flip == 0 ? 7 : right < 7 ? 7 - right : 0;
    const int32_t behind = flip == 0 ? right : right < 7 ? 0 : right - 7;
    for (int32_t i = 0; i < l2->count; i++) {
        const int32_t value = ((*x ^ flip) - zero) * (1 << before);
        const int32_t level = tilewright_round_away(high_product(value, inverse), behind);
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
