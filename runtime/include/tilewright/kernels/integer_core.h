/* SPDX-License-Identifier: Apache-2.0 */
/* The core of integer kernels, which multiplies and adds, and the finishes, which turn sums into
 * elements of the output. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_INTEGER_CORE_H
#define TILEWRIGHT_KERNELS_INTEGER_CORE_H

#include "tilewright/kernels/basics.h"
#include "tilewright/kernels/declarations.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
/* A rule says how the 32-bit sum of a channel becomes an element of the output. Each channel has one
 * row of packed constants, whose words the rule defines. m, a and s are the row's multiplier, addend
 * and shift; A and S are addend and shift of the whole layer (struct tilewright_limits). high(p) is
 * the upper 32 bits of a 64-bit product, >> shifts arithmetically. Every rule but none clamps.
 *
 *   rule        words of a row           element
 *   none        bias                     sum, as int32
 *   shift       bias, m, a, s            (sum * m + a) >> s, in 32 bits without overflow
 *   folded      m, a                     (sum * m + a) >> S, in 32 bits modulo 2^32
 *   high        bias, m, a, s            (high(sum * m) + a) >> s
 *   layer       bias, m                  (high(sum * m) + A) >> S
 *   long        bias, m, a, s            (sum * m + a + 2^s / 2) >> s, in 64 bits
 *   even        bias, m, a, s and left   as high, of sum << left; an exact half goes to the even side
 *   layer_even  bias, m                  as even, with A and S
 *   exact       bias, m, zero point, s   sum * m / 2^s rounded half to even, + zero point
 *   rescale     bias, m as a float       (float)sum * m, as float
 *   away        bias, 2m, a, s and d     (high(sum * 2m) + a) >> s, with a - 1 for a where sum < d; 2m is
 *                                        unsigned
 *   twice       bias, 2m, a, s           v = sum * m / 2^31 rounded half up, then v / 2^s rounded half
 *                                        away from zero, + zero point; 2m is unsigned
 *   twice_any   bias, 2m, zero point, s and left   as twice, of sum << left; twice_half and
 *                                                  twice_word store 16 and 32 bits
 *
 * The sum contains the bias already; the addend of folded, which has none, contains bias * m. Addends
 * of all rules but long contain the half that rounds, 2^s / 2; those of high, layer, even,
 * layer_even, away and twice also the zero point, as zero point * 2^s. The last word of even, like S of
 * layer_even, is three numbers: s in bits 0 to 4, left in bits 8 to 12, the zero point's lowest bit
 * in bit 16; bit 15 of even is set for channels that high does not finish exactly. The last word of
 * twice_any has s and left, that of away s in bits 0 to 7 and d above. In rule twice s is at least
 * 1. */
/* clang-format on */

/* The constants of a rule that all channels of a layer share. */
struct tilewright_limits {
    int32_t minimum, maximum; /* the clamp, in stored units; the bits of floats: rule rescale */
    int32_t addend, shift;    /* A and S: rules folded, layer and layer_even */
};

/* The limits in the attributes of a kernel. */
#define TILEWRIGHT_LIMITS(attributes)                                                              \
    ((struct tilewright_limits){(attributes)->minimum, (attributes)->maximum,                      \
                                (attributes)->addend, (attributes)->shift})

enum { TILEWRIGHT_BLOCK_SUMS = TILEWRIGHT_BLOCK * TILEWRIGHT_BLOCK };

/* First values of a call's sums, and places of its results, block by block. A block is 4 channels
 * of 4 pixels, or of 1 pixel; its sums are [channel][pixel]. If a reduction is cut, sums stay in
 * memory between calls as partial results. */
struct tilewright_sink {
    uint8_t *pixel[TILEWRIGHT_BLOCK]; /* address of each pixel's result for the next channel */
    int32_t channel_stride;           /* bytes between the results of two channels */
    int32_t pixels;                   /* pixels of a block: 4 or 1 */
    int32_t row_words;                /* words of a row of the rule */
    const int32_t *start;             /* first values of the next block's sums; NULL: its biases */
    int32_t *sums;                    /* address for the next block's sums */
    int32_t step;                     /* words between blocks of partial results; 0: none */
    int32_t resumed;                  /* 1: sums begin with the partial results at `sums` */
    struct tilewright_limits limits;
    int32_t block[TILEWRIGHT_BLOCK_SUMS]; /* a block's sums if they are not partial results */
    int32_t longer; /* packed cores: the last channels, whose runs are longer */
};

/* The multiplication of a convolution, and the bytes of one of its weights. */
struct tilewright_core {
    tilewright_block_products *products;
    tilewright_block_products
        *few; /* for the sink's one or two pixels, and whole reductions; or NULL */
    int32_t weight_bytes;
};

/* A rule for blocks of channels and pixels. */
struct tilewright_rule {
    tilewright_block_finish *finish;
    int32_t row_words;
    int32_t biased; /* 1: a row begins with the bias */
};

/* A rule for the pixels of one channel. */
struct tilewright_line_rule {
    tilewright_line_finish *finish;
    int32_t row_words;
    int32_t biased;
};

/* Sets up the sink of one call, all but its pixels and limits. `partial` is the operand of partial
 * results, read only if `flags` say that the reduction is cut; it has blocks in the order in which
 * the call computes them. */
void tilewright_open(struct tilewright_sink *sink, const struct tilewright_rule *rule,
                     int32_t channel_stride, int32_t pixels, const struct tilewright_view *partial,
                     uint32_t flags);

/* Moves to the next pixel of a tile [n, c, h, w] in raster order; behind the last pixel stands that
 * pixel again. */
TILEWRIGHT_INLINE void tilewright_next_pixel(const struct tilewright_shape *y, int32_t *row,
                                             int32_t *column)
{
    if (*column + 1 < y->origin[3] + y->extent[3]) {
        *column += 1;
    } else if (*row + 1 < y->origin[2] + y->extent[2]) {
        *row += 1;
        *column = y->origin[3];
    }
}

/* Moves the sink to the next block of partial results; does nothing for a whole reduction. */
TILEWRIGHT_INLINE void tilewright_next_block(struct tilewright_sink *sink)
{
    if (sink->step != 0) {
        sink->sums += sink->step;
        if (sink->resumed != 0) {
            sink->start = sink->sums;
        }
    }
}

/* Writes the first values of the next block's sums: the biases in its rows, or the values at the
 * sink's `start`. For blocks of four pixels. */
TILEWRIGHT_INLINE void tilewright_first_sums(const struct tilewright_sink *sink,
                                             const int32_t *rows, int32_t *sums)
{
    const int32_t *const start = sink->start;
    const int32_t row_words = sink->row_words;
    if (start == NULL) {
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
            const int32_t bias = rows[c * row_words];
            TILEWRIGHT_UNROLL_4
            for (int32_t p = 0; p < TILEWRIGHT_BLOCK; p++) {
                sums[c * TILEWRIGHT_BLOCK + p] = bias;
            }
        }
    } else {
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
            TILEWRIGHT_UNROLL_4
            for (int32_t p = 0; p < TILEWRIGHT_BLOCK; p++) {
                sums[c * TILEWRIGHT_BLOCK + p] = start[c * TILEWRIGHT_BLOCK + p];
            }
        }
    }
}

/* Writes out[i][run] = runs[run][i * stride] for `count` bytes of each of four runs; returns the
 * address behind the last byte written. */
uint8_t *tilewright_interleave(uint8_t *out, const uint8_t *const *runs, int32_t count,
                               int32_t stride);

/* Turns uint8 into int8 by subtracting 128, or back, in place. Changes whole words, so the buffer's
 * size must be a multiple of 4 bytes. */
void tilewright_flip(uint8_t *bytes, int32_t count);

/* product / 2^shift, rounded half to even; shift from 0 to 62, |product| at most 2^62. */
TILEWRIGHT_INLINE int64_t tilewright_round_even(int64_t product, int32_t shift)
{
    if (shift == 0) {
        return product;
    }
    const int64_t odd = (product >> shift) & 1;
    return (product + (((int64_t)1 << (shift - 1)) - 1) + odd) >> shift;
}

/* value * doubled / 2^32, rounded to the nearest integer, halves up; doubled is unsigned. */
TILEWRIGHT_INLINE int32_t tilewright_high_up(int32_t value, int32_t doubled)
{
    const int64_t product = (int64_t)value * (int64_t)(uint32_t)doubled;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
}

/* value * doubled / 2^32, rounded down; doubled is unsigned. */
TILEWRIGHT_INLINE int32_t tilewright_high_down(int32_t value, int32_t doubled)
{
    return (int32_t)((int64_t)value * (int64_t)(uint32_t)doubled >> 32);
}

/* value / 2^shift, rounded half away from zero; shift from 0 to 31. */
TILEWRIGHT_INLINE int32_t tilewright_round_away(int32_t value, int32_t shift)
{
    const uint32_t mask = (1u << shift) - 1u;
    const uint32_t threshold = (mask >> 1) + (value < 0);
    return (value >> shift) + (((uint32_t)value & mask) > threshold);
}

/* The constants of rule even. */
struct tilewright_even {
    int32_t addend; /* 2^shift / 2 + zero point * 2^shift */
    int32_t shift;  /* 1 to 30 */
    int32_t odd;    /* bit 0 is bit 0 of the zero point */
};

/* product / 2^(32 + shift), rounded half to even, + the zero point. The quotient can lie exactly
 * between two integers only if the product's lower 32 bits are 0. */
TILEWRIGHT_INLINE int32_t tilewright_round_high(int64_t product, struct tilewright_even even)
{
    const int32_t raised = (int32_t)(product >> 32) + even.addend;
    int32_t value = raised >> even.shift;
    if ((uint32_t)product == 0 && (raised & (int32_t)((1u << even.shift) - 1u)) == 0 &&
        ((value ^ even.odd) & 1) != 0) {
        value--;
    }
    return value;
}

TILEWRIGHT_INLINE int32_t tilewright_limit(int64_t value, int32_t minimum, int32_t maximum)
{
    return (int32_t)(value < minimum ? minimum : value > maximum ? maximum : value);
}

/* Weight `index` of int8, or of int16 where `bytes`, for which callers pass a constant, is 2. */
TILEWRIGHT_INLINE int32_t tilewright_weight_at(const void *weights, int32_t index,
                                               const int32_t bytes)
{
    return bytes == 1 ? ((const int8_t *)weights)[index] : ((const int16_t *)weights)[index];
}

#ifdef __cplusplus
}
#endif

#endif
