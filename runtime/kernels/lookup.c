/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/lookup.h"

#include "tilewright/kernels/walk.h"

enum { X, TABLE, Y };

struct lookup {
    const uint8_t *table;
    int32_t flip;
};

static void bytes_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct lookup *lookup = context;
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    for (; count > 0; count--) {
        *y = lookup->table[*x ^ lookup->flip];
        x += stride[0];
        y += stride[1];
    }
}

static void words_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct lookup *lookup = context;
    const uint32_t *table = (const uint32_t *)(const void *)lookup->table;
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    for (; count > 0; count--) {
        *(uint32_t *)(void *)y = table[*x ^ lookup->flip];
        x += stride[0];
        y += stride[1];
    }
}

static void run(const struct tilewright_view *operands, int32_t flip, tilewright_row_function row)
{
    const struct lookup lookup = {operands[TABLE].base, flip};
    const struct tilewright_walk_operand walked[2] = {
        tilewright_walk_view(&operands[X], NULL, NULL),
        tilewright_walk_view(&operands[Y], NULL, NULL)};
    tilewright_walk(walked, 2, operands[Y].shape->extent, row, &lookup);
}

void tilewright_lookup_bytes(const struct tilewright_lookup_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(operands, attributes->flip, bytes_row);
}

void tilewright_lookup_words(const struct tilewright_lookup_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(operands, attributes->flip, words_row);
}
