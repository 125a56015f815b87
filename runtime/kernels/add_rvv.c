/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/walk.h"

/* Elements that do not lie side by side, and cores without vectors. */
static void by_element(uint8_t *const *at, const int32_t *stride, int32_t count,
                       const struct tilewright_add_rvv_attributes *given)
{
    for (int32_t i = 0; i < count; i++) {
        const int32_t a = at[0][i * stride[0]] ^ given->a_flip;
        const int32_t b = at[1][i * stride[1]] ^ given->b_flip;
        const int32_t high =
            a * given->a_multiplier[0] + b * given->b_multiplier[0] + given->addend[0];
        const int32_t low =
            a * given->a_multiplier[1] + b * given->b_multiplier[1] + given->addend[1];
        at[2][i * stride[2]] =
            (uint8_t)tilewright_limit((high + (low >> TILEWRIGHT_ADD_RVV_BELOW)) >> given->shift,
                                      given->minimum, given->maximum);
    }
}

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
                      const struct tilewright_add_rvv_attributes *given)
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
              [below] "i"(TILEWRIGHT_ADD_RVV_BELOW)
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
        by_element(at, stride, count, context);
    }
}

#else

static void add_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    by_element(at, stride, count, context);
}

#endif

void tilewright_add_rvv(const struct tilewright_add_rvv_attributes *attributes,
                        const struct tilewright_view *operands, uint32_t flags)
{
    struct tilewright_walk_operand walked[3];
    (void)flags;
    for (int32_t i = 0; i < 3; i++) {
        tilewright_walk_set(&walked[i], &operands[i], NULL, NULL);
    }
    tilewright_walk(walked, 3, operands[2].shape->extent, add_row, attributes);
}
