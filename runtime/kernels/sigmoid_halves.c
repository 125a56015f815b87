/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/sigmoid_halves.h"

#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/walk.h"

enum { X, TABLE, Y };

struct sigmoid {
    const struct tilewright_sigmoid_halves_attributes *attributes;
    const uint16_t *table;
};

static void sigmoid_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                        const void *context)
{
    const struct sigmoid *sigmoid = context;
    const int32_t multiplier = sigmoid->attributes->multiplier;
    const int32_t shift = sigmoid->attributes->shift;
    const int32_t half = shift > 0 ? 1 << (shift - 1) : 0;
    const uint8_t *x = at[0];
    uint8_t *y = at[1];

    for (; count > 0; count--) {
        const int32_t value = *(const int16_t *)(const void *)x;
        const int32_t scaled = (value * multiplier + half) >> shift;
        *(int16_t *)(void *)y = (int16_t)(sigmoid->attributes->is_tanh != 0
                                              ? tilewright_tanh_halves(sigmoid->table, scaled)
                                              : tilewright_logistic_halves(sigmoid->table, scaled));
        x += stride[0];
        y += stride[1];
    }
}

void tilewright_sigmoid_halves(const struct tilewright_sigmoid_halves_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags)
{
    const struct sigmoid context = {attributes,
                                    (const uint16_t *)(const void *)operands[TABLE].base};
    struct tilewright_walk_operand walked[2];

    (void)flags;
    tilewright_walk_set(&walked[0], &operands[X], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[Y], NULL, NULL);
    tilewright_walk(walked, 2, operands[Y].shape->extent, sigmoid_row, &context);
}
