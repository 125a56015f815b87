/* SPDX-License-Identifier: Apache-2.0 */
/* What integer kernels share: the core that multiplies, and the finishes that turn accumulators
 * into elements of the output. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_INTEGER_CORE_H
#define TILEWRIGHT_KERNELS_INTEGER_CORE_H

#include "tilewright/kernels/basics.h"
#include "tilewright/runtime.h"

/* Channels and pixels of a block of accumulators. Packed weights are padded to whole blocks. */
#define TILEWRIGHT_BLOCK 4

/* One channel's row of packed constants: bias, then what the finish needs:
 *   none        -
 *   shift       multiplier, addend (rounding included), shift: ((acc * m) + a) >> s in 32 bits
 *   folded      no bias; multiplier, addend (bias * m and rounding included): as shift, modulo
 * 2^32, with the layer's shift high        multiplier, addend (rounding and zero point included),
 * shift: (high word of acc * m + a) >> s layer       multiplier: as high with the layer's addend
 * and shift long        multiplier, addend, shift: (acc * m + a + half) >> s in 64 bits even
 * multiplier, addend as high, shift | left << 8 | (zero point & 1) << 16: as high of acc << left,
 * but exact halves go to the even neighbour layer_even  multiplier: as even with the layer's addend
 * and shift exact       multiplier, zero point, shift: round half even of acc * m / 2^s, + zero
 * point, in 64 bits rescale     multiplier as float32: (float) acc * m */
#define TILEWRIGHT_ROW_WORDS 4 /* where kernels of all rules share a loop over rows */

/* The clamp of a finish, in stored units; float outputs use the second pair. Then the constants
 * that all channels of a layer share. */
struct tilewright_limits {
    int32_t minimum, maximum;
    float lowest, highest;
    int32_t addend, shift;
};

/* From the last fields of the attributes of kernels with a constant for each channel. */
#define TILEWRIGHT_LIMITS(attributes)                                                              \
    ((struct tilewright_limits){(attributes)->minimum, (attributes)->maximum,                      \
                                (attributes)->lowest, (attributes)->highest, (attributes)->addend, \
                                (attributes)->shift})

enum { TILEWRIGHT_BLOCK_SUMS = TILEWRIGHT_BLOCK * TILEWRIGHT_BLOCK };

/* Where blocks of sums begin and results go. `pixels` is 4, or 1 for blocks of one pixel. */
struct tilewright_sink {
    uint8_t *pixel[TILEWRIGHT_BLOCK];
    int32_t channel_stride;
    int32_t pixels;
    int32_t row_words;
    const int32_t *start; /* first values of the next block's sums; NULL: biases */
    int32_t *sums;        /* where the next block's sums go, [channel][pixel] */
    int32_t step;         /* from block to block of partial results; 0 without */
    int32_t resumed;      /* sums begin with the partial results that are there */
    struct tilewright_limits limits;
    int32_t block[TILEWRIGHT_BLOCK_SUMS];
};

/* Finishes sums[channel][pixel] of up to four channels and moves the sink's pointers behind them.
 */
typedef void tilewright_block_finish(struct tilewright_sink *sink, const int32_t *sums,
                                     const int32_t *rows, int32_t channels);

/* Finishes `count` sums of one channel into elements that are `stride` bytes apart. */
typedef void tilewright_line_finish(const struct tilewright_limits *limits, const int32_t *sums,
                                    const int32_t *row, uint8_t *out, int32_t stride,
                                    int32_t count);

tilewright_block_finish tilewright_block_none, tilewright_block_shift, tilewright_block_folded,
    tilewright_block_high, tilewright_block_layer, tilewright_block_long, tilewright_block_even,
    tilewright_block_layer_even, tilewright_block_exact, tilewright_block_rescale;
tilewright_line_finish tilewright_line_none, tilewright_line_shift, tilewright_line_folded,
    tilewright_line_high, tilewright_line_layer, tilewright_line_long, tilewright_line_even,
    tilewright_line_layer_even, tilewright_line_exact, tilewright_line_rescale;

/* Words of a row by the name of its rule: no more than its finish needs. */
enum {
    TILEWRIGHT_WORDS_none = 1,
    TILEWRIGHT_WORDS_folded = 2,
    TILEWRIGHT_WORDS_high = 4,
    TILEWRIGHT_WORDS_layer = 2,
    TILEWRIGHT_WORDS_long = 4,
    TILEWRIGHT_WORDS_even = 4,
    TILEWRIGHT_WORDS_layer_even = 2,
    TILEWRIGHT_WORDS_exact = 4,
    TILEWRIGHT_WORDS_rescale = 2
};

/* A finish with its rows. */
struct tilewright_rule {
    tilewright_block_finish *finish;
    int32_t row_words;
    int32_t biased; /* a row begins with the bias */
};
extern const struct tilewright_rule tilewright_rule_none, tilewright_rule_folded,
    tilewright_rule_high, tilewright_rule_layer, tilewright_rule_long, tilewright_rule_even,
    tilewright_rule_layer_even, tilewright_rule_exact, tilewright_rule_rescale;

/* The same for planes of one channel. */
struct tilewright_line_rule {
    tilewright_line_finish *finish;
    int32_t row_words;
    int32_t biased;
};
extern const struct tilewright_line_rule tilewright_line_rule_none, tilewright_line_rule_folded,
    tilewright_line_rule_high, tilewright_line_rule_layer, tilewright_line_rule_long,
    tilewright_line_rule_even, tilewright_line_rule_layer_even, tilewright_line_rule_exact,
    tilewright_line_rule_rescale;

/* The sink of one call; `partial` is there only if the reduction is cut. Its blocks follow each
 * other in the order in which the call computes them. */
void tilewright_open(struct tilewright_sink *sink, const struct tilewright_rule *rule,
                     int32_t channel_stride, int32_t pixels, const struct tilewright_view *partial,
                     uint32_t flags);

/* Takes the sink to the next block of partial results. */
TILEWRIGHT_INLINE void tilewright_next_block(struct tilewright_sink *sink)
{
    if (sink->step != 0) {
        sink->sums += sink->step;
        if (sink->resumed != 0) {
            sink->start = sink->sums;
        }
    }
}

/* The values with which a block's sums, [channel][pixel], begin: the biases in its rows, or those
 * at the sink's start. */
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

/* Sums of products of columns[tap][4 pixels] with weights[block][tap][4 channels], for all blocks
 * of `channels` channels. Without a finish they are left as partial results. */
typedef void tilewright_matmul_core(struct tilewright_sink *sink, const uint8_t *columns,
                                    int32_t taps, const uint8_t *weights, const int32_t *rows,
                                    int32_t channels, tilewright_block_finish *finish);

/* For int8 and for int16 weights. */
tilewright_matmul_core tilewright_core_narrow, tilewright_core_wide;

/* Interleaves four runs of `count` bytes that are `stride` apart; returns the end of the result. */
uint8_t *tilewright_interleave(uint8_t *out, const uint8_t *const *runs, int32_t count,
                               int32_t stride);

/* uint8 to int8 (- 128) and back, in place; whole words, so the buffer must be padded. */
void tilewright_flip(uint8_t *bytes, int32_t count);

/* round half even of product / 2^shift; shift from 0 to 62, |product| at most 2^62. */
TILEWRIGHT_INLINE int64_t tilewright_round_even(int64_t product, int32_t shift)
{
    if (shift == 0) {
        return product;
    }
    const int64_t odd = (product >> shift) & 1;
    return (product + (((int64_t)1 << (shift - 1)) - 1) + odd) >> shift;
}

/* The constants of rule even. */
struct tilewright_even {
    int32_t addend;
    int32_t shift;
    int32_t odd; /* whether the zero point is */
};

/* Round half even of product / 2^(32 + shift), + the zero point that is in the addend; shift from 1
 * to 30. The low word decides nothing but whether the product lies exactly between two integers. */
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

#endif
