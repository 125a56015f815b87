/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix core of float kernels: blocks of 1 or 4 rows by 4 columns. Only for kernels.
 *
 * Weights are packed in blocks of four columns, four weights for each tap; biases apart, four for
 * each block. Every sum adds the taps in order and its bias last, as LiteRT's kernels do, whatever
 * the block, so results do not depend on how an operator is cut, unless that changes the order of
 * the taps. */
#ifndef TILEWRIGHT_KERNELS_FLOAT_BLOCK_H
#define TILEWRIGHT_KERNELS_FLOAT_BLOCK_H

#include "tilewright/kernels/float_math.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    const float *bias;
    /* If the call has a part of the taps: where the partial results of the next rows lie, one for
     * each column, rounded up to 4 columns. Else NULL. */
    float *partial;
    uint32_t flags;
};

/* Where the taps of rows lie: x_step bytes apart, side by side, or tap k of all four rows side by
 * side behind x[0] + 16 * k. */
enum tilewright_taps { TILEWRIGHT_TAPS_APART, TILEWRIGHT_TAPS_DENSE, TILEWRIGHT_TAPS_INTERLEAVED };

/* Adds the tap that lies `ahead` taps behind the next one. */
TILEWRIGHT_INLINE void tilewright_float_tap(float sum[4][4], const uint8_t *const x[4],
                                            const float *weights, int32_t rows,
                                            enum tilewright_taps taps, int32_t ahead)
{
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < rows; i++) {
        const uint8_t *at =
            taps == TILEWRIGHT_TAPS_INTERLEAVED ? x[0] + 16 * ahead + 4 * i : x[i] + 4 * ahead;
        const float value = tilewright_load_f32(at);
        TILEWRIGHT_UNROLL_4
        for (int32_t j = 0; j < 4; j++) {
            sum[i][j] = tilewright_multiply_add(value, weights[4 * ahead + j], sum[i][j]);
        }
    }
}

/* Adds `count` taps of `rows` (1 or 4) rows, of which the next ones lie at `x`, with the weights
 * from `weights` on; returns the weights behind. Callers pass constants for `rows` and `taps`. */
TILEWRIGHT_INLINE const float *tilewright_float_taps(float sum[4][4], const uint8_t *x[4],
                                                     const float *weights, int32_t count,
                                                     int32_t step, const int32_t rows,
                                                     const enum tilewright_taps taps)
{
    const float *end = weights + 4 * (ptrdiff_t)count;
    const int fours = TILEWRIGHT_FAST_FLOATS && taps != TILEWRIGHT_TAPS_APART;
    const float *end_of_fours = fours ? end - 4 * (count % 4) : weights;
    while (weights != end_of_fours) {
        TILEWRIGHT_UNROLL_4
        for (int32_t ahead = 0; ahead < 4; ahead++) {
            tilewright_float_tap(sum, x, weights, rows, taps, ahead);
        }
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < rows; i++) {
            x[i] += taps == TILEWRIGHT_TAPS_INTERLEAVED ? 64 : 16;
        }
        weights += 16;
    }
    while (weights != end) {
        tilewright_float_tap(sum, x, weights, rows, taps, 0);
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < rows; i++) {
            x[i] += taps == TILEWRIGHT_TAPS_INTERLEAVED ? 16 : step;
        }
        weights += 4;
    }
    return weights;
}

/* A run of taps that lie side by side in x, for each row: bytes behind tilewright_float_runs.base,
 * negative where rows are walked backward, or TILEWRIGHT_NO_OFFSET for zeros. */
#define TILEWRIGHT_NO_OFFSET INT32_MIN
struct tilewright_float_run {
    int32_t offset[4];
    int32_t taps;
};

/* Where the taps of rows lie, in the order in which they are added. */
struct tilewright_float_runs {
    int32_t block; /* weights of four columns */
    /* For each run, floats from the first weight of four columns to its own; NULL: the weights of
     * runs follow each other. */
    const int32_t *weights;
    const uint8_t *base;
    const float *zeros;
    const struct tilewright_float_run *first;
    const struct tilewright_float_run *end;
};

/* Computes all columns of `rows` (1 or 4) rows, whose taps lie in `runs`, or from job->x on where
 * `runs` is NULL. Callers pass constants for `rows` and `taps`. */
TILEWRIGHT_INLINE void tilewright_float_columns(struct tilewright_float_rows *job,
                                                const struct tilewright_float_runs *runs,
                                                const float *weights, const int32_t rows,
                                                const enum tilewright_taps taps)
{
    const int32_t step = job->x_step;
    /* Stores of floats may change floats behind pointers, as far as the compiler knows. */
    const float minimum = job->minimum;
    const float maximum = job->maximum;
    const int32_t y_step = job->y_step;
    const float *bias = job->bias;
    float *partial = job->partial;
    const int32_t padded = (job->columns + 3) / 4 * 4;
    const int resumed = partial != NULL && (job->flags & TILEWRIGHT_FIRST) == 0;
    uint8_t *y[4];
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < rows; i++) {
        y[i] = job->y[i];
    }
    for (int32_t column = 0; column < job->columns; column += 4) {
        float sum[4][4];
        const uint8_t *x[4];
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < rows; i++) {
            TILEWRIGHT_UNROLL_4
            for (int32_t j = 0; j < 4; j++) {
                sum[i][j] = resumed ? partial[i * padded + j] : 0.0f;
            }
        }
        if (runs == NULL) {
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < rows; i++) {
                x[i] = job->x[i];
            }
            weights = tilewright_float_taps(sum, x, weights, job->taps, step, rows, taps);
        } else {
            const float *first = weights;
            const int32_t *from = runs->weights;
            for (const struct tilewright_float_run *run = runs->first; run != runs->end; run++) {
                TILEWRIGHT_UNROLL_4
                for (int32_t i = 0; i < rows; i++) {
                    x[i] = run->offset[i] == TILEWRIGHT_NO_OFFSET ? (const uint8_t *)runs->zeros
                                                                  : runs->base + run->offset[i];
                }
                weights = from != NULL ? first + *from++ : weights;
                weights = tilewright_float_taps(sum, x, weights, run->taps, 4, rows, taps);
            }
            weights = first + runs->block;
        }
        if (partial != NULL) {
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < rows; i++) {
                TILEWRIGHT_UNROLL_4
                for (int32_t j = 0; j < 4; j++) {
                    partial[i * padded + j] = sum[i][j];
                }
            }
            partial += 4;
            if ((job->flags & TILEWRIGHT_LAST) == 0) {
                bias += 4;
                continue;
            }
        }
        TILEWRIGHT_UNROLL_4
        for (int32_t j = 0; j < 4; j++) {
            if (column + j < job->columns) {
                const float added = bias[j];
                TILEWRIGHT_UNROLL_4
                for (int32_t i = 0; i < rows; i++) {
                    tilewright_store_f32(
                        y[i],
                        tilewright_clamp(tilewright_float_add(sum[i][j], added), minimum, maximum));
                    y[i] += y_step;
                }
            }
        }
        bias += 4;
    }
    if (partial != NULL) {
        job->partial = partial + (rows - 1) * padded;
    }
}

/* As tilewright_float_columns for taps from job->x on. */
TILEWRIGHT_INLINE void tilewright_float_rows(struct tilewright_float_rows *job,
                                             const float *weights, const int32_t rows,
                                             const enum tilewright_taps taps)
{
    tilewright_float_columns(job, NULL, weights, rows, taps);
}

#ifdef __cplusplus
}
#endif

#endif
