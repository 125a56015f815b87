/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/integer_line.h"
#include "tilewright/kernels/walk.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

struct binary {
    const struct tilewright_binary_integer_attributes *attributes;
    const int32_t *row;
    struct tilewright_limits limits;
};

void tilewright_combine_add(int32_t *restrict a, const int32_t *restrict b, int32_t bias,
                            int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        a[i] += b[i] + bias;
    }
}

void tilewright_combine_sub(int32_t *restrict a, const int32_t *restrict b, int32_t bias,
                            int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        a[i] += bias - b[i];
    }
}

void tilewright_combine_mul(int32_t *restrict a, const int32_t *restrict b, int32_t bias,
                            int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        a[i] = a[i] * b[i] + bias;
    }
}

/* Elements of a piece. Two pieces are on the stack at once. SHORT_PIECE is for rows that call
 * functions for floats: these need more stack, and take longer than the calls for more pieces. */
enum { PIECE = TILEWRIGHT_LINE / 2, SHORT_PIECE = 2 };

TILEWRIGHT_INLINE void combine_pieces(uint8_t *const *at, const int32_t *stride, int32_t count,
                                      const struct binary *binary, int32_t *a, int32_t *b,
                                      const int32_t piece)
{
    const struct tilewright_binary_integer_attributes *attributes = binary->attributes;

    for (int32_t done = 0; done < count; done += piece) {
        const int32_t length = tilewright_smaller(count - done, piece);
        tilewright_line_load(a, at[0] + (ptrdiff_t)done * stride[0], stride[0], length,
                             attributes->a_type, attributes->a_zero_point);
        tilewright_line_load(b, at[1] + (ptrdiff_t)done * stride[1], stride[1], length,
                             attributes->b_type, attributes->b_zero_point);
        attributes->combine(a, b, binary->row[0], length);
        attributes->finish(&binary->limits, a, binary->row, at[2] + (ptrdiff_t)done * stride[2],
                           stride[2], length);
    }
}

void tilewright_integer_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                            const void *context)
{
    int32_t a[PIECE];
    int32_t b[PIECE];
    combine_pieces(at, stride, count, context, a, b, PIECE);
}

void tilewright_integer_short_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                                  const void *context)
{
    int32_t a[SHORT_PIECE];
    int32_t b[SHORT_PIECE];
    combine_pieces(at, stride, count, context, a, b, SHORT_PIECE);
}

void tilewright_binary_integer(const struct tilewright_binary_integer_attributes *a,
                               const struct tilewright_view *operands, uint32_t flags)
{
    const struct binary binary = {
        a, (const int32_t *)(const void *)operands[2].base, {a->minimum, a->maximum, 0, 0}};
    (void)flags;
    tilewright_walk_pair(operands, &operands[3], a->row, &binary);
}

struct rescaled {
    const struct tilewright_add_rescaled_attributes *attributes;
    struct tilewright_even even;
};

TILEWRIGHT_INLINE int32_t byte_of(const uint8_t *at, int32_t flip)
{
    return (*at ^ flip) - flip;
}

/* Reads int8 and uint8 by one expression: (byte ^ flip) - flip with flip 128 gives int8, with 0
 * uint8.
 */
static void rescaled_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                         const void *context)
{
    const struct rescaled *rescaled = context;
    const struct tilewright_add_rescaled_attributes *attributes = rescaled->attributes;
    const struct tilewright_even even = rescaled->even;
    const int32_t flip_a = attributes->a_type == TILEWRIGHT_INT8 ? 128 : 0;
    const int32_t flip_b = attributes->b_type == TILEWRIGHT_INT8 ? 128 : 0;
    const int32_t minimum = attributes->minimum;
    const int32_t maximum = attributes->maximum;
    const int32_t stride_a = stride[0];
    const int32_t stride_b = stride[1];
    const int32_t stride_y = stride[2];
    /* The products of both zero points with their multipliers are one constant. */
    const int64_t constant = ((int64_t)-attributes->a_zero_point * attributes->a_multiplier -
                              (int64_t)attributes->b_zero_point * attributes->b_multiplier) *
                             ((int64_t)1 << attributes->left);
    const int32_t multiplier_a = attributes->a_multiplier;
    const int32_t multiplier_b = attributes->b_multiplier;
    const int32_t left = attributes->left;
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];

    for (; count > 0; count--) {
        const int64_t sum = (int64_t)(byte_of(a, flip_a) * (1 << left)) * multiplier_a +
                            (int64_t)(byte_of(b, flip_b) * (1 << left)) * multiplier_b + constant;
        int32_t value = tilewright_round_high(sum, even);
        if (value < minimum) {
            value = minimum;
        }
        if (value > maximum) {
            value = maximum;
        }
        *y = (uint8_t)value;
        a += stride_a;
        b += stride_b;
        y += stride_y;
    }
}

/* Two elements with a multiplier each, or one for their sum, an addend and a shift. */
struct weighted {
    int32_t a_flip, b_flip;
    uint32_t a_multiplier, b_multiplier, addend;
    int32_t shift, minimum, maximum;
};

TILEWRIGHT_INLINE int32_t weighted_sum(const uint8_t *a, const uint8_t *b,
                                       const struct weighted *given, const int32_t is_one)
{
    const uint32_t x = (uint32_t)(*a ^ given->a_flip), y = (uint32_t)(*b ^ given->b_flip);
    const uint32_t sum = is_one != 0 ? (x + y) * given->a_multiplier
                                     : x * given->a_multiplier + y * given->b_multiplier;
    int32_t value = (int32_t)(sum + given->addend) >> given->shift;
    if (value < given->minimum) {
        value = given->minimum;
    }
    if (value > given->maximum) {
        value = given->maximum;
    }
    return value;
}

/* `is_one`: the first multiplier is that of both elements. */
TILEWRIGHT_INLINE void weighted_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                                    const struct weighted given, const int32_t is_one)
{
    const int32_t stride_a = stride[0];
    const int32_t stride_b = stride[1];
    const int32_t stride_y = stride[2];
    const uint8_t *a = at[0];
    const uint8_t *b = at[1];
    uint8_t *y = at[2];

    if (stride_a == 1 && stride_b == 1 && stride_y == 1) {
        for (; count >= 2; count -= 2) {
            const int32_t first = weighted_sum(a, b, &given, is_one);
            const int32_t second = weighted_sum(a + 1, b + 1, &given, is_one);
            y[0] = (uint8_t)first;
            y[1] = (uint8_t)second;
            a += 2;
            b += 2;
            y += 2;
        }
    }
    for (; count > 0; count--) {
        *y = (uint8_t)weighted_sum(a, b, &given, is_one);
        a += stride_a;
        b += stride_b;
        y += stride_y;
    }
}

#if defined(__ARM_FEATURE_MVE)
/* Elements side by side, four at a time. */
static void shifted_vectors(const uint8_t *a, const uint8_t *b, uint8_t *y, int32_t count,
                            const struct tilewright_add_shifted_attributes *constants)
{
    const int32x4_t a_flip = vdupq_n_s32(constants->a_flip);
    const int32x4_t b_flip = vdupq_n_s32(constants->b_flip);
    const int32x4_t minimum = vdupq_n_s32(constants->minimum);
    const int32x4_t maximum = vdupq_n_s32(constants->maximum);
    __asm__ volatile("wlstp.32 lr, %[count], 2f\n"
                     "1:\n"
                     "vldrb.u32 q0, [%[a]], #4\n"
                     "vldrb.u32 q1, [%[b]], #4\n"
                     "veor q0, q0, %q[af]\n"
                     "veor q1, q1, %q[bf]\n"
                     "vadd.i32 q0, q0, q1\n"
                     "vmul.i32 q0, q0, %[multiplier]\n"
                     "vadd.i32 q0, q0, %[addend]\n"
                     "vshl.s32 q0, %[shift]\n"
                     "vmax.s32 q0, q0, %q[min]\n"
                     "vmin.s32 q0, q0, %q[max]\n"
                     "vstrb.32 q0, [%[y]], #4\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [a] "+r"(a), [b] "+r"(b), [y] "+r"(y)
                     : [count] "r"(count), [af] "w"(a_flip), [bf] "w"(b_flip),
                       [multiplier] "r"(constants->multiplier), [addend] "r"(constants->addend),
                       [shift] "r"(-constants->shift), [min] "w"(minimum), [max] "w"(maximum)
                     : "lr", "memory", "q0", "q1");
}
#endif

static void shifted_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                        const void *context)
{
    const struct tilewright_add_shifted_attributes *const given = context;
    const struct weighted weighted = {given->a_flip,
                                      given->b_flip,
                                      (uint32_t)given->multiplier,
                                      0,
                                      (uint32_t)given->addend,
                                      given->shift,
                                      given->minimum,
                                      given->maximum};

#if defined(__ARM_FEATURE_MVE)
    if (stride[0] == 1 && stride[1] == 1 && stride[2] == 1) {
        shifted_vectors(at[0], at[1], at[2], count, given);
        return;
    }
#endif
    weighted_row(at, stride, count, weighted, 1);
}

static void products_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                         const void *context)
{
    const struct tilewright_add_products_attributes *const given = context;
    const struct weighted weighted = {given->a_flip,
                                      given->b_flip,
                                      (uint32_t)given->a_multiplier,
                                      (uint32_t)given->b_multiplier,
                                      (uint32_t)given->addend,
                                      given->shift,
                                      given->minimum,
                                      given->maximum};
    weighted_row(at, stride, count, weighted, 0);
}

void tilewright_add_shifted(const struct tilewright_add_shifted_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_walk_pair(operands, &operands[2], shifted_row, attributes);
}

void tilewright_add_products(const struct tilewright_add_products_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_walk_pair(operands, &operands[2], products_row, attributes);
}

void tilewright_add_rescaled(const struct tilewright_add_rescaled_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    const struct rescaled rescaled = {
        attributes,
        {(1 << (attributes->shift - 1)) + attributes->zero_point * (1 << attributes->shift),
         attributes->shift, attributes->zero_point & 1}};
    (void)flags;
    tilewright_walk_pair(operands, &operands[2], rescaled_row, &rescaled);
}
