/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/newton.h"
#include "tilewright/kernels/walk.h"

enum { A, B, Y };

static void divide_halves_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                              const void *context)
{
    const struct tilewright_div_fixed_attributes *given = context;
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];

    for (; count > 0; count--) {
        const int32_t result = tilewright_quotient(
            given, NULL, 0, *(const int16_t *)(const void *)a, *(const int16_t *)(const void *)b);
        *(int16_t *)(void *)y = (int16_t)tilewright_limit(result, given->minimum, given->maximum);
        a += stride[0];
        b += stride[1];
        y += stride[2];
    }
}

void tilewright_div_halves(const struct tilewright_div_fixed_attributes *attributes,
                           const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_walk_pair(operands, &operands[Y], divide_halves_row, attributes);
}
