/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

/* The position behind at, in row-major order; 0 behind the last one. */
static int next_position(int32_t *at, const struct tilewright_shape *shape)
{
    for (int32_t axis = TILEWRIGHT_MAX_RANK - 1; axis >= 0; axis--) {
        at[axis]++;
        if (at[axis] < shape->extent[axis]) {
            return 1;
        }
        at[axis] = 0;
    }
    return 0;
}

static void store_column(const struct tilewright_view *positions, int32_t rank, int32_t column,
                         const int32_t *at)
{
    const int32_t *stride = positions->shape->stride;
    for (int32_t i = 0; i < rank; i++) {
        uint8_t *y = positions->base + (ptrdiff_t)i * stride[4] + (ptrdiff_t)column * stride[5];
        *(int64_t *)(void *)y = at != NULL ? at[TILEWRIGHT_MAX_RANK - rank + i] : -1;
    }
}

void tilewright_found_non_zero(const struct tilewright_found_non_zero_attributes *attributes,
                               const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *shape = operands[0].shape;
    const int32_t bound = operands[1].shape->extent[5];
    int32_t at[TILEWRIGHT_MAX_RANK] = {0};
    int32_t count = 0;

    (void)flags;
    do {
        const uint8_t *x = operands[0].base;
        for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
            x += (ptrdiff_t)at[axis] * shape->stride[axis];
        }
        if (*x == 0) {
            continue;
        }
        if (count < bound) {
            store_column(&operands[1], attributes->rank, count, at);
        }
        count++;
    } while (next_position(at, shape));
    for (int32_t column = count; column < bound; column++) {
        store_column(&operands[1], attributes->rank, column, NULL);
    }
    *(int32_t *)(void *)operands[2].base = count;
}
