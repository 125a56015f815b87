/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of packed convolutions whose sums a function finishes, by any rule. */
#include "tilewright/kernels/packed_core.h"

/* As tilewright_packed_core, of four pixels, whose sums a function finishes. */
TILEWRIGHT_INLINE void called(const struct tilewright_packed *job,
                              const struct tilewright_packed_rounds rounds)
{
    enum { WORDS = TILEWRIGHT_BLOCK / 2 };
    const uint8_t *block = job->weights;
    const int32_t *rows = job->rows;
    struct tilewright_sink sink;

    sink.channel_stride = job->channel_stride;
    sink.pixels = TILEWRIGHT_BLOCK;
    sink.row_words = job->row_words;
    sink.limits = job->limits;
    for (int32_t first = 0; first < job->channels; first += TILEWRIGHT_PACKED_COLUMNS) {
        for (int32_t lane = 0; lane < TILEWRIGHT_PACKED_COLUMNS; lane += TILEWRIGHT_PACKED_LANES) {
            int32_t bias[TILEWRIGHT_PACKED_LANES],
                low[TILEWRIGHT_PACKED_LANES * TILEWRIGHT_PACKED_WORDS],
                high[TILEWRIGHT_PACKED_LANES * TILEWRIGHT_PACKED_WORDS];
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
                bias[c] = rows[c * job->row_words];
            }
            tilewright_packed_add_taps(job, block, lane, bias, low, high, WORDS, rounds);
            TILEWRIGHT_UNROLL_4
            for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
                TILEWRIGHT_UNROLL_4
                for (int32_t p = 0; p < WORDS; p++) {
                    sink.block[TILEWRIGHT_BLOCK * c + 2 * p] = low[TILEWRIGHT_PACKED_LANES * p + c];
                    sink.block[TILEWRIGHT_BLOCK * c + 2 * p + 1] =
                        high[TILEWRIGHT_PACKED_LANES * p + c];
                }
            }
            for (int32_t c = 0; c < TILEWRIGHT_PACKED_LANES; c++) {
                const int32_t channel = first + lane + c + ((const int8_t *)block)[lane + c];
                const ptrdiff_t to = (ptrdiff_t)channel * job->channel_stride;
                for (int32_t p = 0; p < TILEWRIGHT_BLOCK; p++) {
                    sink.pixel[p] = job->pixel[p] + to;
                }
                job->finish(&sink, sink.block + TILEWRIGHT_BLOCK * c, rows, 1);
                rows += job->row_words;
            }
        }
        block += tilewright_packed_bytes_of(job);
    }
}

void tilewright_packed_any_4_to4(const struct tilewright_packed *job)
{
    called(job, tilewright_packed_to4);
}

void tilewright_packed_any_4_to8(const struct tilewright_packed *job)
{
    called(job, tilewright_packed_to8);
}

void tilewright_packed_any_4_to16(const struct tilewright_packed *job)
{
    called(job, tilewright_packed_to16);
}

void tilewright_packed_any_4_wide(const struct tilewright_packed *job)
{
    called(job, tilewright_packed_wide);
}
