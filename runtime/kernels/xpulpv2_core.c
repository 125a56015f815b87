/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_core.h"

void tilewright_xpulpv2_open(struct tilewright_xpulpv2_job *job,
                             struct tilewright_xpulpv2_run *table, int32_t is_unsigned,
                             uint32_t flags)
{
    const struct tilewright_limits *limits = &job->sink.limits;
    job->runs = table;
    job->clip = TILEWRIGHT_XPULPV2_CLIP_BOTH;
    if (job->sink.channel_stride == 1 && limits->minimum == 0) {
        job->clip = TILEWRIGHT_XPULPV2_CLIP_ABOVE_ZERO;
    } else if (job->sink.channel_stride == 1 && limits->minimum == ~limits->maximum) {
        job->clip = TILEWRIGHT_XPULPV2_CLIP_AROUND_ZERO;
    }
    job->add = is_unsigned != 0 ? tilewright_xpulpv2_sums_unsigned : tilewright_xpulpv2_sums_signed;
    if (flags != TILEWRIGHT_WHOLE) {
        job->finished = NULL;
    }
    if ((flags & TILEWRIGHT_LAST) == 0) {
        job->rule.finish = NULL;
    }
}

void tilewright_xpulpv2_channels(struct tilewright_xpulpv2_job *job, const uint8_t *weights,
                                 const int32_t *rows, int32_t channels, int32_t y_stride)
{
    const int32_t whole = channels / TILEWRIGHT_BLOCK * TILEWRIGHT_BLOCK;
    job->first_weights = weights;
    job->first_rows = rows;
    job->rows_end = rows;
    if (job->finished != NULL) {
        job->rows_end += whole * job->sink.row_words;
    }
    job->pixel_step = TILEWRIGHT_BLOCK * y_stride - whole * job->sink.channel_stride;
    job->channels = channels;
}

/* As tilewright_first_sums for sums that are not partial results, but in loops: fetching the
 * unrolled code would take longer than running it. */
static void fill(const struct tilewright_xpulpv2_job *job, int32_t *sums, const int32_t *rows)
{
    for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
        const int32_t first = job->rule.biased != 0 ? *rows : 0;
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
            *sums++ = first;
        }
        rows += job->sink.row_words;
    }
}

/* Computes blocks that the assembler cannot finish: sums that are partial results, rules whose
 * finish is in C, and blocks of fewer than four channels. */
static TILEWRIGHT_NOINLINE void by_block(struct tilewright_xpulpv2_job *job, int32_t channels)
{
    struct tilewright_sink *const sink = &job->sink;
    const int32_t *rows = job->rows;
    for (; channels > 0; channels -= TILEWRIGHT_BLOCK) {
        int32_t *const sums = sink->sums;
        if (sink->resumed == 0) {
            fill(job, sums, rows);
        }
        job->add(job);
        tilewright_next_block(sink);
        if (job->rule.finish != NULL) {
            job->rule.finish(sink, sums, rows, tilewright_smaller(channels, TILEWRIGHT_BLOCK));
        }
        rows += TILEWRIGHT_BLOCK * sink->row_words;
    }
}

void tilewright_xpulpv2_core(struct tilewright_xpulpv2_job *job, int32_t fours)
{
    int32_t channels = job->channels;
    job->weights = job->first_weights;
    job->rows = job->first_rows;
    job->fours = fours;
    job->next_run = job->runs_end == job->runs + 1 ? NULL : job->runs + 1;
    if (job->rows != job->rows_end) {
        job->finished(job);
        channels %= TILEWRIGHT_BLOCK;
    }
    if (channels > 0) {
        by_block(job, channels);
    }
}
