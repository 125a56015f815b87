/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/map_rows.h"

/* One line: the probabilities of the first of two classes, for the pairs (0, 1), (0, 2), ...,
 * (1, 2), ..., and the probabilities of the classes, which minimise a sum of squares (the second
 * method of Wu, Lin and Weng; python/tilewright/operators/line.py). */
struct line {
    const uint8_t *pairs;
    int32_t pair_stride;
    uint8_t *p;
    int32_t p_stride;
    int32_t count;
};

static float *probability(const struct line *line, int32_t i)
{
    return (float *)(void *)(line->p + (ptrdiff_t)i * line->p_stride);
}

/* The probability of class i where the classes are i and j. */
static float share(const struct line *line, int32_t i, int32_t j)
{
    const int32_t first = i < j ? i : j;
    const int32_t second = i < j ? j : i;
    const int32_t at = first * line->count - first * (first + 1) / 2 + second - first - 1;
    const float value = TILEWRIGHT_ELEMENT(float, line->pairs + (ptrdiff_t)at * line->pair_stride);

    return i < j ? value : 1.0f - value;
}

/* Half the derivative of the sum of squares by the probability of class i, and in `square` its
 * factor of that probability itself. */
static float slope(const struct line *line, int32_t i, float *square)
{
    float sum = 0.0f;

    *square = 0.0f;
    for (int32_t j = 0; j < line->count; j++) {
        if (j != i) {
            const float other = share(line, j, i);
            *square += other * other;
            sum -= other * share(line, i, j) * *probability(line, j);
        }
    }
    return sum + *square * *probability(line, i);
}

/* The mean of the derivatives, weighted by the probabilities; `is_close` where none is far from
 * it. */
static float mean_slope(const struct line *line, int *is_close)
{
    const float most = 0.005f / (float)line->count;
    float square;
    float mean = 0.0f;

    for (int32_t i = 0; i < line->count; i++) {
        mean += *probability(line, i) * slope(line, i, &square);
    }
    *is_close = 1;
    for (int32_t i = 0; i < line->count; i++) {
        *is_close = *is_close && fabsf(slope(line, i, &square) - mean) < most;
    }
    return mean;
}

static void round_of(const struct line *line, float mean)
{
    for (int32_t i = 0; i < line->count; i++) {
        float square;
        const float own = slope(line, i, &square);
        const float step = (mean - own) / square;
        const float total = 1.0f + step;

        mean = (mean + step * (step * square + 2.0f * own)) / total / total;
        *probability(line, i) += step;
        for (int32_t j = 0; j < line->count; j++) {
            *probability(line, j) /= total;
        }
    }
}

void tilewright_line_pairwise_coupling_f32(uint8_t *const *at, const int32_t *stride,
                                           const int32_t *extent, const void *context)
{
    const struct line line = {at[0], stride[0], at[1], stride[1], extent[1]};
    int is_close = 0;

    (void)context;
    for (int32_t i = 0; i < line.count; i++) {
        *probability(&line, i) = 1.0f / (float)line.count;
    }
    for (int32_t round = 0; round < 100; round++) {
        const float mean = mean_slope(&line, &is_close);
        if (is_close) {
            return;
        }
        round_of(&line, mean);
    }
}
