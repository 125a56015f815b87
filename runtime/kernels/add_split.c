/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/add_split.h"

#include "tilewright/kernels/dsp.h"
#include "tilewright/kernels/walk.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

#if defined(__riscv) && __riscv_xlen == 32

/* Compilers that use vectors of their own know the registers by name. */
#if defined(__riscv_vector) && (defined(__clang__) || __GNUC__ >= 13)
#define TILEWRIGHT_VECTORS                                                                         \
    , "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",      \
        "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", \
        "v27", "v28", "v29", "v30", "v31"
#else
#define TILEWRIGHT_VECTORS
#endif

/* clang-format off */
/* Lanes of 32 bits: v8 elements of a, then the low sum; v16 elements of b; v24 the high sum. */
static void by_vector(const uint8_t *a, const uint8_t *b, uint8_t *y, int32_t count,
                      const struct tilewright_add_split_attributes *given)
{
    const int32_t ah = given->a_multiplier[0], al = given->a_multiplier[1];
    const int32_t bh = given->b_multiplier[0], bl = given->b_multiplier[1];
    int32_t lanes;
    do {
        __asm__ volatile(
            ".option push\n"
            ".option arch, +zve32x\n"
            "vsetvli %[n], %[count], e32, m8, ta, ma\n"
            "vle8.v v0, (%[a])\n"
            "vzext.vf4 v8, v0\n"
            "vle8.v v0, (%[b])\n"
            "vzext.vf4 v16, v0\n"
            "vxor.vx v8, v8, %[af]\n"
            "vxor.vx v16, v16, %[bf]\n"
            "vmul.vx v24, v8, %[ah]\n"
            "vmacc.vx v24, %[bh], v16\n"
            "vmul.vx v8, v8, %[al]\n"
            "vmacc.vx v8, %[bl], v16\n"
            "vadd.vx v8, v8, %[cl]\n"
            "vsra.vi v8, v8, %[below]\n"
            "vadd.vx v24, v24, %[ch]\n"
            "vadd.vv v24, v24, v8\n"
            "vsra.vx v24, v24, %[shift]\n"
            "vmax.vx v24, v24, %[min]\n"
            "vmin.vx v24, v24, %[max]\n"
            "vsetvli zero, %[n], e16, m4, ta, ma\n"
            "vnsrl.wi v24, v24, 0\n"
            "vsetvli zero, %[n], e8, m2, ta, ma\n"
            "vnsrl.wi v24, v24, 0\n"
            "vse8.v v24, (%[y])\n"
            ".option pop\n"
            : [n] "=&r"(lanes)
            : [count] "r"(count), [a] "r"(a), [b] "r"(b), [y] "r"(y), [af] "r"(given->a_flip),
              [bf] "r"(given->b_flip), [ah] "r"(ah), [al] "r"(al), [bh] "r"(bh), [bl] "r"(bl),
              [cl] "r"(given->addend[1]), [ch] "r"(given->addend[0]),
              [shift] "r"(given->shift), [min] "r"(given->minimum), [max] "r"(given->maximum),
              [below] "i"(TILEWRIGHT_ADD_SPLIT_BELOW)
            : "memory" TILEWRIGHT_VECTORS);
        a += lanes;
        b += lanes;
        y += lanes;
        count -= lanes;
    } while (count > 0);
}
/* clang-format on */

static void add_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    if (count > 1 && stride[0] == 1 && stride[1] == 1 && stride[2] == 1) {
        by_vector(at[0], at[1], at[2], count, context);
    } else {
        tilewright_add_split_elements(at, stride, count, context);
    }
}

#elif defined(__ARM_FEATURE_MVE)

/* clang-format off */
/* Four lanes of 32 bits: q0 elements of a, then the low sum; q1 elements of b; q2 the high sum. */
static void by_vector(const uint8_t *a, const uint8_t *b, uint8_t *y, int32_t count,
                      const struct tilewright_add_split_attributes *given)
{
    const int32x4_t minimum = vdupq_n_s32(given->minimum), maximum = vdupq_n_s32(given->maximum);
    const int32x4_t a_flip = vdupq_n_s32(given->a_flip), b_flip = vdupq_n_s32(given->b_flip);
    __asm__ volatile(
        "wlstp.32 lr, %[count], 2f\n"
        "1:\n"
        "vldrb.u32 q0, [%[a]], #4\n"
        "vldrb.u32 q1, [%[b]], #4\n"
        "veor q0, q0, %q[af]\n"
        "veor q1, q1, %q[bf]\n"
        "vmul.i32 q2, q0, %[ah]\n"
        "vmla.s32 q2, q1, %[bh]\n"
        "vmul.i32 q0, q0, %[al]\n"
        "vmla.s32 q0, q1, %[bl]\n"
        "vadd.i32 q0, q0, %[cl]\n"
        "vadd.i32 q2, q2, %[ch]\n"
        "vshr.s32 q0, q0, #%c[below]\n"
        "vadd.i32 q2, q2, q0\n"
        "vshl.s32 q2, %[shift]\n"
        "vmax.s32 q2, q2, %q[min]\n"
        "vmin.s32 q2, q2, %q[max]\n"
        "vstrb.32 q2, [%[y]], #4\n"
        "letp lr, 1b\n"
        "2:\n"
        : [a] "+r"(a), [b] "+r"(b), [y] "+r"(y)
        : [count] "r"(count), [af] "w"(a_flip), [bf] "w"(b_flip),
          [ah] "r"(given->a_multiplier[0]), [al] "r"(given->a_multiplier[1]),
          [bh] "r"(given->b_multiplier[0]), [bl] "r"(given->b_multiplier[1]),
          [cl] "r"(given->addend[1]), [ch] "r"(given->addend[0]),
          [shift] "r"(-given->shift), [min] "w"(minimum), [max] "w"(maximum),
          [below] "i"(TILEWRIGHT_ADD_SPLIT_BELOW)
        : "lr", "memory", "q0", "q1", "q2");
}
/* clang-format on */

static void add_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    if (count > 1 && stride[0] == 1 && stride[1] == 1 && stride[2] == 1) {
        by_vector(at[0], at[1], at[2], count, context);
    } else {
        tilewright_add_split_elements(at, stride, count, context);
    }
}

#else

/* Elements of int8 side by side, limits those of int8: both low products in one instruction. */
static void by_pair(const uint8_t *a, const uint8_t *b, uint8_t *y, int32_t count,
                    const struct tilewright_add_split_attributes *given)
{
    const int32_t a_high = given->a_multiplier[0], b_high = given->b_multiplier[0];
    const uint32_t lows = (uint32_t)given->a_multiplier[1] | (uint32_t)given->b_multiplier[1] << 16;
    /* Elements with their sign bits flipped are 128 larger. */
    const int32_t high = given->addend[0] + 128 * (a_high + b_high);
    const int32_t low = given->addend[1] + 128 * (given->a_multiplier[1] + given->b_multiplier[1]);
    const int32_t shift = given->shift;
    const uint8_t *const end = a + count;
    while (a != end) {
        const int32_t first = (int8_t)*a++, second = (int8_t)*b++;
        const uint32_t both = ((uint32_t)first & 0xffffu) | (uint32_t)second << 16;
        const int32_t below = tilewright_dsp_dual(both, lows, low) >> TILEWRIGHT_ADD_SPLIT_BELOW;
        const int32_t value = (first * a_high + second * b_high + high + below) >> shift;
        *y++ = (uint8_t)tilewright_dsp_saturated(value);
    }
}

static void add_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct tilewright_add_split_attributes *given = context;
    const int32_t is_beside = stride[0] == 1 && stride[1] == 1 && stride[2] == 1;
    const int32_t is_signed = given->a_flip == 128 && given->b_flip == 128;
    if (is_beside != 0 && is_signed != 0 && given->minimum == INT8_MIN &&
        given->maximum == INT8_MAX) {
        by_pair(at[0], at[1], at[2], count, given);
    } else {
        tilewright_add_split_elements(at, stride, count, given);
    }
}

#endif

void tilewright_add_split(const struct tilewright_add_split_attributes *attributes,
                          const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    tilewright_walk_pair(operands, &operands[2], add_row, attributes);
}
