/* SPDX-License-Identifier: Apache-2.0 */
/* A line of iLayerNorm or iRMSNorm: its mean, its deviation, and its results. Only for the kernels
 * of whole lines and of parts of lines. */
#ifndef TILEWRIGHT_KERNELS_NORM_LINE_H
#define TILEWRIGHT_KERNELS_NORM_LINE_H

#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/integer_line.h"

/* Elements that are loaded at a time: half a line, because the values of three loops are on the
 * stack too. A kernel with more frames defines fewer. */
#ifndef TILEWRIGHT_NORM_PIECE
#define TILEWRIGHT_NORM_PIECE (TILEWRIGHT_LINE / 2)
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_norm {
    const struct tilewright_norm_integer_attributes *attributes;
    const uint8_t *w;
    const uint8_t *b; /* null: iRMSNorm */
    int32_t count;
    int32_t x_stride, w_stride, b_stride, y_stride;
};

static inline int32_t tilewright_norm_word(const uint8_t *at)
{
    return *(const int32_t *)(const void *)at;
}

/* floor(sqrt(value)), digit by digit. */
static inline uint32_t tilewright_norm_root(uint64_t value)
{
    uint64_t rest = value;
    uint64_t result = 0;
    uint64_t digit = (uint64_t)1 << 62;

    while (digit > value) {
        digit >>= 2;
    }
    while (digit != 0) {
        if (rest >= result + digit) {
            rest -= result + digit;
            result = (result >> 1) + digit;
        } else {
            result >>= 1;
        }
        digit >>= 2;
    }
    return (uint32_t)result;
}

static inline int32_t tilewright_norm_mean(const struct tilewright_norm *norm, const uint8_t *x)
{
    int64_t sum = 0;
    for (int32_t done = 0; done < norm->count; done += TILEWRIGHT_NORM_PIECE) {
        const int32_t length = tilewright_smaller(norm->count - done, TILEWRIGHT_NORM_PIECE);
        int32_t line[TILEWRIGHT_NORM_PIECE];
        tilewright_line_load(line, x + (ptrdiff_t)done * norm->x_stride, norm->x_stride, length,
                             norm->attributes->x_type, 0);
        for (int32_t i = 0; i < length; i++) {
            sum += line[i];
        }
    }
    return (int32_t)(sum / norm->count);
}

static inline int32_t tilewright_norm_deviation(const struct tilewright_norm *norm,
                                                const uint8_t *x, int32_t mean)
{
    int64_t sum = 0;
    for (int32_t done = 0; done < norm->count; done += TILEWRIGHT_NORM_PIECE) {
        const int32_t length = tilewright_smaller(norm->count - done, TILEWRIGHT_NORM_PIECE);
        int32_t line[TILEWRIGHT_NORM_PIECE];
        tilewright_line_load(line, x + (ptrdiff_t)done * norm->x_stride, norm->x_stride, length,
                             norm->attributes->x_type, mean);
        for (int32_t i = 0; i < length; i++) {
            sum += (int64_t)line[i] * line[i];
        }
    }
    return (int32_t)tilewright_norm_root((uint64_t)(sum / norm->count) + 1u);
}

/* (value * w / deviation + b) >> shift, in 64 bits only if products need them: a 32-bit core
 * divides 32 bits in one instruction, 64 bits in about a hundred. */
static inline int64_t tilewright_norm_scaled(const struct tilewright_norm *norm, int32_t value,
                                             int32_t index, int32_t deviation)
{
    const int32_t w = tilewright_norm_word(norm->w + (ptrdiff_t)index * norm->w_stride);
    const int32_t b =
        norm->b == NULL ? 0 : tilewright_norm_word(norm->b + (ptrdiff_t)index * norm->b_stride);
    if (norm->attributes->wide != 0) {
        return ((int64_t)value * w / deviation + b) >> norm->attributes->shift;
    }
    return (value * w / deviation + b) >> norm->attributes->shift;
}

/* The results of `*count` elements from x on. */
TILEWRIGHT_INLINE void tilewright_norm_write(const struct tilewright_norm *norm, const uint8_t *x,
                                             uint8_t *y, const int32_t *count, int32_t mean,
                                             int32_t deviation)
{
    for (int32_t done = 0; done < *count; done += TILEWRIGHT_NORM_PIECE) {
        const int32_t length = tilewright_smaller(*count - done, TILEWRIGHT_NORM_PIECE);
        int32_t line[TILEWRIGHT_NORM_PIECE];
        tilewright_line_load(line, x + (ptrdiff_t)done * norm->x_stride, norm->x_stride, length,
                             norm->attributes->x_type, mean);
        for (int32_t i = 0; i < length; i++) {
            int64_t value = tilewright_norm_scaled(norm, line[i], done + i, deviation);
            if (norm->b == NULL) {
                value = value < -128 ? -128 : value > 127 ? 127 : value;
            }
            y[(ptrdiff_t)(done + i) * norm->y_stride] = (uint8_t)value;
        }
    }
}

#ifdef __cplusplus
}
#endif

#endif
