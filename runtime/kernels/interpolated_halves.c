/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/walk.h"

enum { X, TABLE, Y };

struct interpolated {
    const int16_t *zero; /* the entry of 0 */
    int32_t bits;
};

static void interpolated_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                             const void *context)
{
    const struct interpolated *table = context;
    const int32_t bits = table->bits;
    const int32_t half = 1 << (bits - 1);
    const uint8_t *x = at[0];
    uint8_t *y = at[1];

    for (; count > 0; count--) {
        const int32_t value = *(const int16_t *)(const void *)x;
        const int16_t *entry = table->zero + (value >> bits);
        /* LiteRT keeps the difference in 16 bits, also where the function is steeper. */
        const int32_t slope = (int16_t)(uint16_t)(entry[1] - entry[0]);
        const int32_t low = value & ((1 << bits) - 1);
        *(int16_t *)(void *)y = (int16_t)(uint16_t)(entry[0] + ((slope * low + half) >> bits));
        x += stride[0];
        y += stride[1];
    }
}

void tilewright_interpolated_halves(
    const struct tilewright_interpolated_halves_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    const int16_t *table = (const int16_t *)(const void *)operands[TABLE].base;
    const struct interpolated context = {table + (32768 >> attributes->bits), attributes->bits};
    struct tilewright_walk_operand walked[2];

    (void)flags;
    tilewright_walk_set(&walked[0], &operands[X], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[Y], NULL, NULL);
    tilewright_walk(walked, 2, operands[Y].shape->extent, interpolated_row, &context);
}
