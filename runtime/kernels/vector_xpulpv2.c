/* SPDX-License-Identifier: Apache-2.0 */
/* Products of one vector with a matrix in words of four, for fully_connected_integer.c: the weights
 * are [block][word][4 channels][4 bytes], and elements of the vector lie side by side. */
#include "tilewright/kernels/xpulpv2_vector.h"

/* First values of the sums of a block. */
static void first(const struct tilewright_sink *sink, const int32_t *rows, int32_t *sums)
{
    const int32_t step = sink->start == NULL ? sink->row_words : 1;
    const int32_t *start = sink->start == NULL ? rows : sink->start;
    for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
        sums[c] = *start;
        start += step;
    }
}

/* Blocks that the assembler does not finish: partial results, rules whose finish is in C, and fewer
 * than four channels. */
static TILEWRIGHT_NOINLINE void by_block(struct tilewright_sink *sink,
                                         struct tilewright_xpulpv2_vector *work, int32_t channels,
                                         tilewright_block_finish *finish,
                                         tilewright_xpulpv2_vectors *add)
{
    for (; channels > 0; channels -= TILEWRIGHT_BLOCK) {
        int32_t *const sums = sink->sums;
        if (sink->resumed == 0) {
            first(sink, work->rows, sums);
        }
        work->y = (uint8_t *)(void *)sums;
        add(work);
        tilewright_next_block(sink);
        if (finish != NULL) {
            finish(sink, sums, work->rows, tilewright_smaller(channels, TILEWRIGHT_BLOCK));
        }
        work->rows += TILEWRIGHT_BLOCK * sink->row_words;
    }
}

/* `finished`: computes whole blocks and stores their results; NULL if the rule has no such
 * function.
 */
static void vectors(struct tilewright_sink *sink, const uint8_t *vector, int32_t taps,
                    const int8_t *w, const int32_t *rows, int32_t channels,
                    tilewright_block_finish *finish, tilewright_xpulpv2_vectors *add,
                    tilewright_xpulpv2_vectors *finished)
{
    struct tilewright_xpulpv2_vector work;
    work.x = vector;
    work.words = taps / 4;
    work.weights = w;
    work.rows = rows;
    work.limits = sink->limits;
    work.blocks = channels / TILEWRIGHT_BLOCK;
    if (finished != NULL && finish != NULL && sink->resumed == 0 && work.blocks > 0) {
        work.y = sink->pixel[0];
        work.step = sink->channel_stride;
        finished(&work);
        sink->pixel[0] = work.y;
        channels %= TILEWRIGHT_BLOCK;
    }
    by_block(sink, &work, channels, finish, add);
}

#define TILEWRIGHT_VECTOR(name, sign, finished)                                                    \
    void tilewright_vector_xpulpv2_##name(                                                         \
        struct tilewright_sink *sink, const uint8_t *vector, int32_t stride, int32_t taps,         \
        const int8_t *w, const int32_t *rows, int32_t channels, tilewright_block_finish *finish)   \
    {                                                                                              \
        (void)stride;                                                                              \
        vectors(sink, vector, taps, w, rows, channels, finish,                                     \
                tilewright_xpulpv2_vector_sums_##sign, finished);                                  \
    }

TILEWRIGHT_VECTOR(signed, signed, NULL)
TILEWRIGHT_VECTOR(unsigned, unsigned, NULL)
TILEWRIGHT_VECTOR(folded_signed, signed, tilewright_xpulpv2_vector_folded_signed)
TILEWRIGHT_VECTOR(folded_unsigned, unsigned, tilewright_xpulpv2_vector_folded_unsigned)
TILEWRIGHT_VECTOR(layer_signed, signed, tilewright_xpulpv2_vector_layer_signed)
TILEWRIGHT_VECTOR(layer_unsigned, unsigned, tilewright_xpulpv2_vector_layer_unsigned)
TILEWRIGHT_VECTOR(high_signed, signed, tilewright_xpulpv2_vector_high_signed)
TILEWRIGHT_VECTOR(high_unsigned, unsigned, tilewright_xpulpv2_vector_high_unsigned)
TILEWRIGHT_VECTOR(away_signed, signed, tilewright_xpulpv2_vector_away_signed)
TILEWRIGHT_VECTOR(away_unsigned, unsigned, tilewright_xpulpv2_vector_away_unsigned)
