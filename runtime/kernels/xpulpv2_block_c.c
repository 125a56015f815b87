/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of xpulpv2_block.c in C, for other machines; tests compare both. */
#include "tilewright/kernels/xpulpv2_core.h"

#if !defined(__riscv) || __riscv_xlen != 32

static void multiply(struct tilewright_xpulpv2_job *job, int32_t *sums, const int32_t is_unsigned)
{
    for (const struct tilewright_xpulpv2_run *run = job->runs; run != job->runs_end; run++) {
        for (int32_t i = 0; i < 4 * job->run_words; i++) {
            for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
                const int32_t w = (int8_t)job->weights[i / 4 * 16 + c * 4 + i % 4];
                for (int32_t p = 0; p < TILEWRIGHT_BLOCK; p++) {
                    const uint8_t x = run->pixel[p][i];
                    sums[c * TILEWRIGHT_BLOCK + p] += w * (is_unsigned != 0 ? x : (int8_t)x);
                }
            }
        }
        job->weights += 16 * job->run_words;
    }
}

static void one(struct tilewright_xpulpv2_job *job, const int32_t is_unsigned)
{
    multiply(job, job->sink.sums, is_unsigned);
}

static void four(struct tilewright_xpulpv2_job *job, const struct tilewright_rule *rule,
                 const int32_t is_unsigned)
{
    struct tilewright_sink *const sink = &job->sink;
    while (job->rows != job->rows_end) {
        tilewright_first_sums(sink, job->rows, sink->block);
        multiply(job, sink->block, is_unsigned);
        rule->finish(sink, sink->block, job->rows, TILEWRIGHT_BLOCK);
        job->rows += TILEWRIGHT_BLOCK * rule->row_words;
    }
}

static void all(struct tilewright_xpulpv2_job *job, const struct tilewright_rule *rule,
                const int32_t is_unsigned)
{
    four(job, rule, is_unsigned);
    while (--job->fours > 0) {
        job->weights = job->first_weights;
        job->rows = job->first_rows;
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
            job->sink.pixel[i] += job->pixel_step;
            for (struct tilewright_xpulpv2_run *run = job->runs; run != job->runs_end; run++) {
                run->pixel[i] += run->step;
            }
        }
        four(job, rule, is_unsigned);
    }
}

void tilewright_xpulpv2_sums_signed(struct tilewright_xpulpv2_job *job)
{
    one(job, 0);
}

void tilewright_xpulpv2_sums_unsigned(struct tilewright_xpulpv2_job *job)
{
    one(job, 1);
}

#define TILEWRIGHT_FINISHED(name)                                                                  \
    void tilewright_xpulpv2_##name##_signed(struct tilewright_xpulpv2_job *job)                    \
    {                                                                                              \
        all(job, &tilewright_rule_##name, 0);                                                      \
    }                                                                                              \
    void tilewright_xpulpv2_##name##_unsigned(struct tilewright_xpulpv2_job *job)                  \
    {                                                                                              \
        all(job, &tilewright_rule_##name, 1);                                                      \
    }

TILEWRIGHT_FINISHED(folded)
TILEWRIGHT_FINISHED(layer)
TILEWRIGHT_FINISHED(high)
TILEWRIGHT_FINISHED(away)

#endif
