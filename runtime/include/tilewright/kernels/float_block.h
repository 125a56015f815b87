/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix core of float kernels: blocks of 1 or 4 rows by 4 columns. Only for kernels.
 *
 * Weights are packed in blocks of four columns: four biases, then four weights for each tap.
 * Every sum starts at its bias and adds the taps in order, whatever the block, so results do
 * not depend on how an operator is cut. */
#ifndef TILEWRIGHT_KERNELS_FLOAT_BLOCK_H
#define TILEWRIGHT_KERNELS_FLOAT_BLOCK_H

#include "tilewright/kernels/float_math.h"

struct tilewright_float_rows {
    const uint8_t *x[4];
    /* Bytes from tap to tap. */
    int32_t x_step;
    int32_t taps;
    uint8_t *y[4];
    /* Bytes from column to column. */
    int32_t y_step;
    int32_t columns;
    float minimum;
    float maximum;
};

/* `rows` is 1 or 4; `interleaved` says that the rows' taps lie side by side at x[0]. Both are
 * constants where this is called. */
TILEWRIGHT_INLINE void tilewright_float_rows(const struct tilewright_float_rows *job,
                                             const float *weights, int32_t rows, int interleaved)
{
    const int32_t step = job->x_step;
    uint8_t *y[4];
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < rows; i++) {
        y[i] = job->y[i];
    }
    for (int32_t column = 0; column < job->columns; column += 4) {
        float sum[4][4];
        const uint8_t *x[4];
        const float *end = weights + 4 + 4 * (ptrdiff_t)job->taps;
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < rows; i++) {
            x[i] = job->x[i];
            TILEWRIGHT_UNROLL_4
            for (int32_t j = 0; j < 4; j++) {
                sum[i][j] = weights[j];
            }
        }
        weights += 4;
        while (weights != end) {
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < rows; i++) {
                const float value = tilewright_load_f32(interleaved ? x[0] + 4 * i : x[i]);
                TILEWRIGHT_UNROLL_4
                for (int32_t j = 0; j < 4; j++) {
                    sum[i][j] = tilewright_multiply_add(value, weights[j], sum[i][j]);
                }
            }
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < rows; i++) {
                x[i] += interleaved ? 16 : step;
            }
            weights += 4;
        }
        TILEWRIGHT_UNROLL_4
        for (int32_t j = 0; j < 4; j++) {
            if (column + j < job->columns) {
                TILEWRIGHT_UNROLL_4
                for (int32_t i = 0; i < rows; i++) {
                    tilewright_store_f32(y[i],
                                         tilewright_clamp(sum[i][j], job->minimum, job->maximum));
                    y[i] += job->y_step;
                }
            }
        }
    }
}

#endif
