/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise kernels of 3x3 taps side by side, row stride 1, that finish sums in registers. */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/depthwise_window.h"
#include "tilewright/kernels/dsp_rules.h"

enum { SIDE = 3, FOURS = 4 };

TILEWRIGHT_INLINE void finish(uint8_t *out, int32_t sum,
                              const struct tilewright_constants *constants,
                              const struct tilewright_limits *limits,
                              const enum tilewright_rule_kind rule,
                              const enum tilewright_dsp_limits known)
{
    tilewright_dsp_store(out, sum, *constants, limits, rule, known);
}

#if defined(__arm__)

/* A column of y with at least four rows: twelve registers hold four sums, three weights and an
 * element. The last four rows may be computed twice. */
TILEWRIGHT_INLINE void column_of_fours(const struct tilewright_depthwise_plane *plane,
                                       const int8_t *restrict x, uint8_t *restrict out,
                                       const struct tilewright_constants *constants,
                                       const struct tilewright_limits *limits,
                                       const enum tilewright_rule_kind rule,
                                       const enum tilewright_dsp_limits known)
{
    const int32_t pitch = plane->pitch;
    const int8_t *restrict w = plane->weights;
    int32_t left = plane->rows;

    for (;;) {
        int32_t a = plane->bias, b = a, c = a, d = a;
        const int8_t *const end = w + SIDE;
        do {
            const int32_t w0 = w[0], w1 = w[SIDE], w2 = w[2 * SIDE];
            const int8_t *restrict const lower = x + 3 * pitch;
            int32_t element = x[0];
            a += element * w0;
            element = x[pitch];
            a += element * w1;
            b += element * w0;
            element = x[2 * pitch];
            a += element * w2;
            b += element * w1;
            c += element * w0;
            element = lower[0];
            b += element * w2;
            c += element * w1;
            d += element * w0;
            element = lower[pitch];
            c += element * w2;
            d += element * w1;
            element = lower[2 * pitch];
            d += element * w2;
            x++;
            w++;
        } while (w != end);
        const int32_t step = plane->down;
        finish(out, a, constants, limits, rule, known);
        finish(out + step, b, constants, limits, rule, known);
        finish(out + 2 * step, c, constants, limits, rule, known);
        finish(out + 3 * step, d, constants, limits, rule, known);
        left -= FOURS;
        if (left == 0) {
            return;
        }
        const int32_t down = tilewright_smaller(left, FOURS);
        left += FOURS - down;
        x += down * pitch - SIDE;
        w -= SIDE;
        out += down * step;
    }
}

#endif

TILEWRIGHT_INLINE int32_t dot(int32_t sum, int32_t a, int32_t b, int32_t c, int32_t u, int32_t v,
                              int32_t w)
{
    return sum + a * u + b * v + c * w;
}

/* A column of y. A row of the window is loaded once, for three sums: the one that it completes, the
 * next one, and the one that it begins. */
TILEWRIGHT_INLINE void column(const struct tilewright_depthwise_plane *plane,
                              const int8_t *restrict x, uint8_t *restrict out,
                              const struct tilewright_constants *constants,
                              const struct tilewright_limits *limits,
                              const enum tilewright_rule_kind rule,
                              const enum tilewright_dsp_limits known, const int32_t bytes)
{
    int32_t w[SIDE * SIDE];
    TILEWRIGHT_UNROLL_16
    for (int32_t tap = 0; tap < SIDE * SIDE; tap++) {
        w[tap] = tilewright_weight_at(plane->weights, tap, bytes);
    }
    const int32_t w0 = w[0], w1 = w[1], w2 = w[2];
    const int32_t w3 = w[3], w4 = w[4], w5 = w[5];
    const int32_t w6 = w[6], w7 = w[7], w8 = w[8];
    const int32_t bias = plane->bias, pitch = plane->pitch, down = plane->down;
    const uint8_t *const end = out + plane->rows * down;
    int32_t begun = dot(bias, x[0], x[1], x[2], w0, w1, w2);
    x += pitch;
    int32_t next = dot(begun, x[0], x[1], x[2], w3, w4, w5);
    begun = dot(bias, x[0], x[1], x[2], w0, w1, w2);
    do {
        x += pitch;
        const int32_t a = x[0], b = x[1], c = x[2];
        finish(out, dot(next, a, b, c, w6, w7, w8), constants, limits, rule, known);
        out += down;
        next = dot(begun, a, b, c, w3, w4, w5);
        begun = dot(bias, a, b, c, w0, w1, w2);
    } while (out != end);
}

TILEWRIGHT_INLINE void columns(const struct tilewright_depthwise_plane *plane,
                               const enum tilewright_rule_kind rule,
                               const enum tilewright_dsp_limits known, const int32_t bytes)
{
    const struct tilewright_limits limits = *plane->limits;
    const struct tilewright_constants constants =
        tilewright_constants_of(plane->row, &limits, rule);
    const int8_t *x = plane->bytes;
    uint8_t *out = plane->out;
    for (int32_t left = plane->columns; left > 0; left--) {
#if defined(__arm__)
        if (bytes == 1 && plane->rows >= FOURS) {
            column_of_fours(plane, x, out, &constants, &limits, rule, known);
        } else {
            column(plane, x, out, &constants, &limits, rule, known, bytes);
        }
#else
        column(plane, x, out, &constants, &limits, rule, known, bytes);
#endif
        x += plane->step;
        out += plane->across;
    }
}

TILEWRIGHT_INLINE void slide(const struct tilewright_depthwise_plane *plane,
                             const enum tilewright_rule_kind rule, const int32_t bytes)
{
#if defined(__ARM_FEATURE_SAT)
    const enum tilewright_dsp_limits known = tilewright_dsp_limits_of(plane->limits);
    if (known == TILEWRIGHT_DSP_SIGNED) {
        columns(plane, rule, TILEWRIGHT_DSP_SIGNED, bytes);
        return;
    }
    if (known == TILEWRIGHT_DSP_UNSIGNED) {
        columns(plane, rule, TILEWRIGHT_DSP_UNSIGNED, bytes);
        return;
    }
#endif
    columns(plane, rule, TILEWRIGHT_DSP_ANY, bytes);
}

#define TILEWRIGHT_DEFINE_SLIDE(name, rule, bytes)                                                 \
    void tilewright_depthwise_##name(const struct tilewright_depthwise_integer_attributes *a,      \
                                     const struct tilewright_depthwise_plane *plane)               \
    {                                                                                              \
        (void)a;                                                                                   \
        slide(plane, rule, bytes);                                                                 \
    }

TILEWRIGHT_DEFINE_SLIDE(slide_folded, TILEWRIGHT_RULE_FOLDED, 1)
TILEWRIGHT_DEFINE_SLIDE(slide_layer, TILEWRIGHT_RULE_LAYER, 1)
TILEWRIGHT_DEFINE_SLIDE(slide_high, TILEWRIGHT_RULE_HIGH, 1)
TILEWRIGHT_DEFINE_SLIDE(wide_slide_folded, TILEWRIGHT_RULE_FOLDED, 2)
TILEWRIGHT_DEFINE_SLIDE(wide_slide_layer, TILEWRIGHT_RULE_LAYER, 2)
TILEWRIGHT_DEFINE_SLIDE(wide_slide_high, TILEWRIGHT_RULE_HIGH, 2)
