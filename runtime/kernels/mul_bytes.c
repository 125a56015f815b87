/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_rules.h"
#include "tilewright/kernels/walk.h"

/* How an operand's byte becomes a factor: (byte ^ flip) + offset. */
struct read {
    int32_t flip, offset;
};

/* What finishes a product. */
struct finish {
    struct tilewright_constants constants;
    struct tilewright_limits limits;
    enum tilewright_rule_kind rule;
};

TILEWRIGHT_INLINE int32_t factor(const uint8_t *at, struct read read)
{
    return (*at ^ read.flip) + read.offset;
}

TILEWRIGHT_INLINE void store(uint8_t *y, int32_t product, const struct finish *finish)
{
    tilewright_store_sum(y, product, finish->constants, &finish->limits, finish->rule);
}

/* Elements side by side, two at a time. b's factors lie side by side, or all are `fixed`. */
TILEWRIGHT_INLINE void multiply_pairs(uint8_t *const *at, int32_t count, const struct read *reads,
                                      const struct finish *finish, const int32_t is_fixed,
                                      int32_t fixed)
{
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];
    const uint8_t *const end = y + count;

    for (; y != end; y += 2) {
        const int32_t first = factor(a, reads[0]) * (is_fixed ? fixed : factor(b, reads[1]));
        const int32_t second =
            factor(a + 1, reads[0]) * (is_fixed ? fixed : factor(b + 1, reads[1]));
        store(y, first, finish);
        store(y + 1, second, finish);
        a += 2;
        b += 2;
    }
}

TILEWRIGHT_INLINE void multiply_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                                    const void *context, const enum tilewright_rule_kind rule)
{
    const struct tilewright_mul_bytes_attributes *const given = context;
    const struct tilewright_limits limits = {given->minimum, given->maximum, 0, 0};
    const int32_t row[4] = {0, given->multiplier, given->addend, given->shift};
    const struct finish finish = {tilewright_constants_of(row, &limits, rule), limits, rule};
    const struct read reads[2] = {{given->a_flip, given->a_offset},
                                  {given->b_flip, given->b_offset}};
    const int32_t stride_a = stride[0];
    const int32_t stride_b = stride[1];
    const int32_t stride_y = stride[2];
    int32_t done = 0;

    if (stride_a == 1 && (stride_b == 0 || stride_b == 1) && stride_y == 1) {
        done = count & ~1;
        if (stride_b == 0) {
            multiply_pairs(at, done, reads, &finish, 1, factor(at[1], reads[1]));
        } else {
            multiply_pairs(at, done, reads, &finish, 0, 0);
        }
    }
    const uint8_t *a = at[0] + (ptrdiff_t)done * stride_a;
    const uint8_t *b = at[1] + (ptrdiff_t)done * stride_b;
    uint8_t *y = at[2] + (ptrdiff_t)done * stride_y;
    for (; done < count; done++) {
        store(y, factor(a, reads[0]) * factor(b, reads[1]), &finish);
        a += stride_a;
        b += stride_b;
        y += stride_y;
    }
}

void tilewright_mul_bytes_high(uint8_t *const *at, const int32_t *stride, int32_t count,
                               const void *context)
{
    multiply_row(at, stride, count, context, TILEWRIGHT_RULE_HIGH);
}

void tilewright_mul_bytes_shift(uint8_t *const *at, const int32_t *stride, int32_t count,
                                const void *context)
{
    multiply_row(at, stride, count, context, TILEWRIGHT_RULE_SHIFT);
}

void tilewright_mul_bytes_twice(uint8_t *const *at, const int32_t *stride, int32_t count,
                                const void *context)
{
    multiply_row(at, stride, count, context, TILEWRIGHT_RULE_TWICE);
}

void tilewright_mul_bytes(const struct tilewright_mul_bytes_attributes *attributes,
                          const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_walk_pair(operands, &operands[2], attributes->row, attributes);
}
