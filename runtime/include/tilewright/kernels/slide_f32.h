/* SPDX-License-Identifier: Apache-2.0 */
/* A 3x3 depthwise kernel on floats that slides over rows: of each window, two columns are in
 * registers since the output before. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_SLIDE_F32_H
#define TILEWRIGHT_KERNELS_SLIDE_F32_H

#include "tilewright/kernels/float_math.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a 3x3 kernel reads of one column of x for one output. */
struct tilewright_slide_column {
    float at[3];
};

/* Loads a column of x and moves `rows` on to the next one. */
TILEWRIGHT_INLINE struct tilewright_slide_column tilewright_slide_next(const uint8_t **rows,
                                                                       ptrdiff_t step)
{
    struct tilewright_slide_column found;
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < 3; i++) {
        found.at[i] = tilewright_load_f32(rows[i]);
        rows[i] += step;
    }
    return found;
}

/* One channel's bias and its 3x3 weights, and the limits of its outputs. */
struct tilewright_slide {
    float bias;
    float weights[9];
    float minimum;
    float maximum;
};

/* Stores the output of the columns `a`, `b` and `c` of x, and adds taps row by row. `has_a` and
 * `has_c`, for which callers pass constants, are 0 for a column outside of x. */
TILEWRIGHT_INLINE void tilewright_slide_output(const struct tilewright_slide *slide,
                                               const struct tilewright_slide_column *a,
                                               const struct tilewright_slide_column *b,
                                               const struct tilewright_slide_column *c, int has_a,
                                               int has_c, uint8_t *y)
{
    float sum = slide->bias;
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < 3; i++) {
        const float *weights = &slide->weights[3 * i];
        if (has_a) {
            sum = tilewright_multiply_add(a->at[i], weights[0], sum);
        }
        sum = tilewright_multiply_add(b->at[i], weights[1], sum);
        if (has_c) {
            sum = tilewright_multiply_add(c->at[i], weights[2], sum);
        }
    }
    tilewright_store_f32(y, tilewright_clamp(sum, slide->minimum, slide->maximum));
}

/* Rows of outputs whose windows have all three rows inside of x: in each row `left` and `right` (0
 * or 1) have two columns inside, the `inside` ones between them, at least 1, all three. */
struct tilewright_slide_run {
    int32_t rows;
    int32_t left;
    int32_t inside;
    int32_t right;
    /* Bytes from row to row of the outputs, and from column to column. */
    ptrdiff_t x_row_step;
    ptrdiff_t y_row_step;
    ptrdiff_t x_step;
    ptrdiff_t y_step;
};

/* Computes a row of one channel from left to right: two columns of each window are those of the
 * window before. `rows` are at the first column that is read. */
TILEWRIGHT_INLINE void tilewright_slide_row(const struct tilewright_slide *slide,
                                            const struct tilewright_slide_run *run,
                                            const uint8_t **rows, uint8_t *y)
{
    const ptrdiff_t step = run->x_step;
    const ptrdiff_t y_step = run->y_step;
    int32_t count = run->inside;
    struct tilewright_slide_column a = tilewright_slide_next(rows, step);
    struct tilewright_slide_column b = tilewright_slide_next(rows, step);
    struct tilewright_slide_column c;

    if (run->left != 0) {
        tilewright_slide_output(slide, &a, &a, &b, 0, 1, y);
        y += y_step;
    }
    while (count >= 3) {
        c = tilewright_slide_next(rows, step);
        tilewright_slide_output(slide, &a, &b, &c, 1, 1, y);
        y += y_step;
        a = tilewright_slide_next(rows, step);
        tilewright_slide_output(slide, &b, &c, &a, 1, 1, y);
        y += y_step;
        b = tilewright_slide_next(rows, step);
        tilewright_slide_output(slide, &c, &a, &b, 1, 1, y);
        y += y_step;
        count -= 3;
    }
    while (count > 0) {
        c = tilewright_slide_next(rows, step);
        tilewright_slide_output(slide, &a, &b, &c, 1, 1, y);
        y += y_step;
        a = b;
        b = c;
        count--;
    }
    if (run->right != 0) {
        tilewright_slide_output(slide, &a, &b, &b, 1, 0, y);
    }
}

#ifdef __cplusplus
}
#endif

#endif
