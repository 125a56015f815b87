/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_core.h"

void tilewright_xpulpv2_open(struct tilewright_xpulpv2_job *job, const struct tilewright_sink *sink,
                             struct tilewright_xpulpv2_run *table)
{
    job->runs = table;
    job->channel_stride = sink->channel_stride;
    job->minimum = sink->limits.minimum;
    job->maximum = sink->limits.maximum;
    job->addend = sink->limits.addend;
    job->shift = sink->limits.shift;
    job->sums = sink->sums;
}

/* First values of a block's sums where they are not kept as partial results. */
static void fill(int32_t *start, const struct tilewright_rule *rule, const int32_t *rows)
{
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK_SUMS; i++) {
        start[i] = rule->biased != 0 ? rows[i / TILEWRIGHT_BLOCK * rule->row_words] : 0;
    }
}

void tilewright_xpulpv2_core(struct tilewright_sink *sink, struct tilewright_xpulpv2_job *job,
                             int32_t is_unsigned, const int32_t *rows, int32_t channels,
                             const struct tilewright_xpulpv2_rule *rule, uint32_t flags,
                             int32_t fours, int32_t y_stride)
{
    const int32_t whole = channels / TILEWRIGHT_BLOCK;
    tilewright_xpulpv2_block *const finished = rule->finished[is_unsigned];

    if (finished != NULL && flags == TILEWRIGHT_WHOLE && whole > 0) {
        job->rows = rows;
        job->blocks = whole;
        job->fours = fours;
        job->pixel_step =
            TILEWRIGHT_BLOCK * y_stride - whole * TILEWRIGHT_BLOCK * job->channel_stride;
        job->first_weights = job->weights;
        job->first_rows = rows;
        job->all_blocks = whole;
        finished(job);
        channels -= whole * TILEWRIGHT_BLOCK;
        if (channels == 0) {
            return;
        }
        rows = job->rows;
    }
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        sink->pixel[i] = job->pixel[i];
    }
    for (; channels > 0; channels -= TILEWRIGHT_BLOCK) {
        if (sink->resumed == 0) {
            fill(sink->sums, rule->rule, rows);
        }
        job->start = sink->sums;
        job->sums = sink->sums;
        (is_unsigned != 0 ? tilewright_xpulpv2_sums_unsigned : tilewright_xpulpv2_sums_signed)(job);
        tilewright_next_block(sink);
        if ((flags & TILEWRIGHT_LAST) != 0) {
            rule->rule->finish(sink, job->sums, rows,
                               channels < TILEWRIGHT_BLOCK ? channels : TILEWRIGHT_BLOCK);
        }
        rows += TILEWRIGHT_BLOCK * sink->row_words;
    }
}

#define TILEWRIGHT_XPULPV2_RULE(name, on_signed, on_unsigned)                                      \
    const struct tilewright_xpulpv2_rule tilewright_xpulpv2_rule_##name = {                        \
        &tilewright_rule_##name, {on_signed, on_unsigned}};

TILEWRIGHT_XPULPV2_RULE(none, NULL, NULL)
TILEWRIGHT_XPULPV2_RULE(folded, tilewright_xpulpv2_folded_signed,
                        tilewright_xpulpv2_folded_unsigned)
TILEWRIGHT_XPULPV2_RULE(high, tilewright_xpulpv2_high_signed, tilewright_xpulpv2_high_unsigned)
TILEWRIGHT_XPULPV2_RULE(layer, tilewright_xpulpv2_layer_signed, tilewright_xpulpv2_layer_unsigned)
TILEWRIGHT_XPULPV2_RULE(long, NULL, NULL)
TILEWRIGHT_XPULPV2_RULE(even, NULL, NULL)
TILEWRIGHT_XPULPV2_RULE(layer_even, NULL, NULL)
TILEWRIGHT_XPULPV2_RULE(exact, NULL, NULL)
TILEWRIGHT_XPULPV2_RULE(rescale, NULL, NULL)
