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
    const float *end_of_fours = fours ? end - 4 * ((uint32_t)count % 4u) : weights;
    while (weights != end_of_fours) {
        TILEWRIGHT_UNROLL_4
        for (int32_t ahead = 0; ahead < 4; ahead++) {
            tilewright_float_tap(sum, x, weights, rows, taps, ahead);
        }
        TILEWRIGHT_UNROLL_4
        for (int32_t i = 0; i < rows; i++) {
            x[i] += taps == TILEWRIGHT_TAPS_INTERLEAVED ? 64 : 16;
            /* Else GCC computes the pointers behind the loop anew, from the number of its turns. */
            TILEWRIGHT_FORGET(x[i]);
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

/* A run of taps that lie side by side in x: for each row its place, as tilewright_float_place and
 * tilewright_float_zeros say it. */
struct tilewright_float_run {
    int32_t place[4];
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

/* A place in 32 bits: on cores of 32 bits the address, which every block of columns reads again; on
 * others bytes behind `base`, negative where rows are walked backward, or INT32_MIN for zeros. */
#if UINTPTR_MAX == UINT32_MAX
#define TILEWRIGHT_PLACES_ARE_ADDRESSES 1
#else
#define TILEWRIGHT_PLACES_ARE_ADDRESSES 0
#endif

TILEWRIGHT_INLINE int32_t tilewright_float_place(const struct tilewright_float_runs *runs,
                                                 int32_t offset)
{
    return TILEWRIGHT_PLACES_ARE_ADDRESSES ? (int32_t)(uintptr_t)(runs->base + offset) : offset;
}

TILEWRIGHT_INLINE int32_t tilewright_float_zeros(const struct tilewright_float_runs *runs)
{
    return TILEWRIGHT_PLACES_ARE_ADDRESSES ? (int32_t)(uintptr_t)runs->zeros : INT32_MIN;
}

TILEWRIGHT_INLINE const uint8_t *tilewright_float_at(const struct tilewright_float_runs *runs,
                                                     int32_t place)
{
    if (TILEWRIGHT_PLACES_ARE_ADDRESSES) {
        return (const uint8_t *)(uintptr_t)(uint32_t)place;
    }
    return place == INT32_MIN ? (const uint8_t *)runs->zeros : runs->base + place;
}

/* Stores column `j` of `rows` (1 or 4) rows, whose sums lack their bias; `maximum` is NULL for
 * none. Callers pass constants for `j` and `rows`. */
TILEWRIGHT_INLINE void tilewright_float_finish(float sum[4][4], const int32_t j, float bias,
                                               const int32_t rows, uint8_t *const y[4],
                                               float minimum, const float *maximum)
{
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 0; i < rows; i++) {
        const float value = tilewright_raise(tilewright_float_add(sum[i][j], bias), minimum);
        const int is_above = maximum != NULL && tilewright_float_less(*maximum, value);
        tilewright_store_f32(y[i], is_above ? *maximum : value);
    }
}

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
    const int is_open = tilewright_is_open_above(maximum);
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
                    x[i] = tilewright_float_at(runs, run->place[i]);
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
            if (column + j >= job->columns) {
                continue;
            }
            if (is_open) {
                tilewright_float_finish(sum, j, bias[j], rows, y, minimum, NULL);
            } else {
                tilewright_float_finish(sum, j, bias[j], rows, y, minimum, &maximum);
            }
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < rows; i++) {
                y[i] += y_step;
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
