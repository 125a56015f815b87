/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/newton.h"
#include "tilewright/kernels/walk.h"

enum { A, B, RECIPROCALS, Y };

struct division {
    const struct tilewright_div_fixed_attributes *attributes;
    const int32_t *reciprocals;
};

static int32_t element(const uint8_t *at, int32_t is_unsigned)
{
    return is_unsigned != 0 ? *at : *(const int8_t *)at;
}

static void divide_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                       const void *context)
{
    const struct division *division = context;
    const struct tilewright_div_fixed_attributes *given = division->attributes;
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];

    for (; count > 0; count--) {
        const int32_t result = tilewright_quotient(
            given, division->reciprocals, 1, element(a, given->is_unsigned) - given->a_zero_point,
            element(b, given->is_unsigned) - given->b_zero_point);
        *y = (uint8_t)tilewright_limit(result, given->minimum, given->maximum);
        a += stride[0];
        b += stride[1];
        y += stride[2];
    }
}

void tilewright_div_fixed(const struct tilewright_div_fixed_attributes *attributes,
                          const struct tilewright_view *operands, uint32_t flags)
{
    const struct division context = {attributes,
                                     (const int32_t *)(const void *)operands[RECIPROCALS].base};

    (void)flags;
    tilewright_walk_pair(operands, &operands[Y], divide_row, &context);
}
