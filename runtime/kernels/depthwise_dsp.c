/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/depthwise_window.h"
#include "tilewright/kernels/dsp.h"

/* A row of a window is a word: halves `even` have its taps 0 and 2, `odd` tap 1 and a byte behind
 * the row, which is multiplied by zero. The word may reach a byte beyond the window, into the sums.
 */
struct row {
    uint32_t even, odd;
};

TILEWRIGHT_INLINE struct row row_at(const int8_t *at)
{
    const uint32_t word = tilewright_dsp_load((const uint8_t *)at);
    const struct row row = {tilewright_dsp_even(word), tilewright_dsp_odd(word)};
    return row;
}

TILEWRIGHT_INLINE uint32_t halves(int32_t low, int32_t high)
{
    return ((uint32_t)low & 0xffffu) | (uint32_t)high << 16;
}

/* The weights of a window: taps 0 and 2 of each row, tap 1 of the first two rows, of the last row.
 */
struct weights {
    uint32_t outer[3], middle, last;
};

TILEWRIGHT_INLINE int32_t sum_of(struct row a, struct row b, struct row c, struct weights w,
                                 int32_t sum)
{
    sum = tilewright_dsp_dual(a.even, w.outer[0], sum);
    sum = tilewright_dsp_low(a.odd, w.middle, sum);
    sum = tilewright_dsp_dual(b.even, w.outer[1], sum);
    sum = tilewright_dsp_low_high(b.odd, w.middle, sum);
    sum = tilewright_dsp_dual(c.even, w.outer[2], sum);
    return tilewright_dsp_low(c.odd, w.last, sum);
}

#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

/* One column of y. The assembler knows the order of the fields. */
struct column {
    int32_t pitch, bias;
    int32_t step; /* bytes from a sum to the next */
    int32_t *sums_end;
    const int8_t *x;
    int32_t *sums;
    struct weights weights;
};

/* clang-format off */
/* Registers: r0 the last row of x, r1 where the sum goes, r2 the sum, r3 to r7 the weights; the first
 * four fields are on the stack. The new row takes the registers that the row before last leaves. */
#define TILEWRIGHT_DSP_ROW(even, odd)                                                              \
    "ldr " even ", [r0]\n"                                                                         \
    "sxtb16 " odd ", " even ", ror #8\n"                                                           \
    "sxtb16 " even ", " even "\n"
#define TILEWRIGHT_DSP_SUM(a_even, a_odd, b_even, b_odd, even, odd)                                \
    "ldrd " even ", r2, [sp]\n"                                                                    \
    "add r0, r0, " even "\n"                                                                       \
    TILEWRIGHT_DSP_ROW(even, odd)                                                                  \
    "smlad r2, " a_even ", r3, r2\n"                                                               \
    "smlabb r2, " a_odd ", r6, r2\n"                                                               \
    "smlad r2, " b_even ", r4, r2\n"                                                               \
    "smlabt r2, " b_odd ", r6, r2\n"                                                               \
    "smlad r2, " even ", r5, r2\n"                                                                 \
    "smlabb r2, " odd ", r7, r2\n"                                                                 \
    "ldrd " a_even ", " a_odd ", [sp, #8]\n"                                                       \
    "str r2, [r1]\n"                                                                               \
    "add r1, r1, " a_even "\n"                                                                     \
    "cmp r1, " a_odd "\n"                                                                          \
    "beq 2f\n"

__attribute__((naked, noinline)) static void
slide_down(__attribute__((unused)) const struct column *column)
{
    __asm__("push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
            "ldm r0!, {r1, r2, r3, r4}\n"
            "push {r1, r2, r3, r4}\n"
            "mov r2, r1\n"
            "ldm r0, {r0, r1, r3, r4, r5, r6, r7}\n"
            TILEWRIGHT_DSP_ROW("r8", "r9")
            "add r0, r0, r2\n"
            TILEWRIGHT_DSP_ROW("r10", "r11")
            "1:\n"
            TILEWRIGHT_DSP_SUM("r8", "r9", "r10", "r11", "r12", "lr")
            TILEWRIGHT_DSP_SUM("r10", "r11", "r12", "lr", "r8", "r9")
            TILEWRIGHT_DSP_SUM("r12", "lr", "r8", "r9", "r10", "r11")
            "b 1b\n"
            "2:\n"
            "add sp, sp, #16\n"
            "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
/* clang-format on */

TILEWRIGHT_INLINE void slide(const struct tilewright_depthwise_plane *plane,
                             const struct weights *weights, const int8_t *x, int32_t *sums)
{
    const struct column column = {
        plane->pitch, plane->bias, 4 * plane->columns, sums + plane->rows * plane->columns, x,
        sums,         *weights};
    slide_down(&column);
}

#else

/* One column of y, rows not strided: each row of the window is loaded once. The variables of the
 * three rows change their roles, so that no row is moved between registers. */
static TILEWRIGHT_NOINLINE void slide(const struct tilewright_depthwise_plane *plane,
                                      const struct weights *weights, const int8_t *x, int32_t *sums)
{
    const struct weights w = *weights;
    const int32_t pitch = plane->pitch, columns = plane->columns, bias = plane->bias;
    int32_t *const end = sums + plane->rows * columns;
    struct row a = row_at(x), b, c;
    x += pitch;
    b = row_at(x);

#define TILEWRIGHT_STEP(a, b, c)                                                                   \
    x += pitch;                                                                                    \
    c = row_at(x);                                                                                 \
    *sums = sum_of(a, b, c, w, bias);                                                              \
    sums += columns;                                                                               \
    if (sums == end) {                                                                             \
        break;                                                                                     \
    }

    for (;;) {
        TILEWRIGHT_STEP(a, b, c)
        TILEWRIGHT_STEP(b, c, a)
        TILEWRIGHT_STEP(c, a, b)
    }
#undef TILEWRIGHT_STEP
}

#endif

/* The same for any stride. */
static TILEWRIGHT_NOINLINE void stride(const struct tilewright_depthwise_plane *plane,
                                       const struct weights *weights, int32_t down, const int8_t *x,
                                       int32_t *sums)
{
    const struct weights w = *weights;
    const int32_t pitch = plane->pitch;
    for (int32_t left = plane->rows; left > 0; left--) {
        *sums = sum_of(row_at(x), row_at(x + pitch), row_at(x + 2 * pitch), w, plane->bias);
        sums += plane->columns;
        x += down * pitch;
    }
}

/* Kernels of 3x3 taps side by side: two products per instruction. */
void tilewright_depthwise_dsp(const struct tilewright_depthwise_integer_attributes *a,
                              const struct tilewright_depthwise_plane *plane)
{
    const int8_t *const w = plane->weights;
    const struct weights weights = {{halves(w[0], w[2]), halves(w[3], w[5]), halves(w[6], w[8])},
                                    halves(w[1], w[4]),
                                    halves(w[7], 0)};

    for (int32_t column = 0; column < plane->columns; column++) {
        const int8_t *const x = plane->bytes + column * plane->step;
        if (a->strides[0] == 1) {
            slide(plane, &weights, x, plane->sums + column);
        } else {
            stride(plane, &weights, a->strides[0], x, plane->sums + column);
        }
    }
}
