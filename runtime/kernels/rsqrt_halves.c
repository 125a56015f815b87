/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/newton.h"
#include "tilewright/kernels/walk.h"

enum { X, Y };
enum { ROOT_BITS = 20 };

static int32_t inverse_root_of(const struct tilewright_rsqrt_halves_attributes *given, int32_t x)
{
    int32_t right = 0;
    if (x <= 0) {
        return INT16_MAX;
    }
    const int32_t inverse = tilewright_inverse_root(x, &right);
    const int32_t root = tilewright_high_product(1 << (ROOT_BITS - right), inverse);
    const int32_t high = tilewright_high_up(root << given->left, given->doubled);
    return tilewright_limit(tilewright_round_away(high, given->right), INT16_MIN, INT16_MAX);
}

static void rsqrt_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const uint8_t *x = at[0];
    uint8_t *y = at[1];

    for (; count > 0; count--) {
        *(int16_t *)(void *)y =
            (int16_t)inverse_root_of(context, *(const int16_t *)(const void *)x);
        x += stride[0];
        y += stride[1];
    }
}

void tilewright_rsqrt_halves(const struct tilewright_rsqrt_halves_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    struct tilewright_walk_operand walked[2];

    (void)flags;
    tilewright_walk_set(&walked[0], &operands[X], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[Y], NULL, NULL);
    tilewright_walk(walked, 2, operands[Y].shape->extent, rsqrt_row, attributes);
}
