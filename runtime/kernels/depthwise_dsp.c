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
