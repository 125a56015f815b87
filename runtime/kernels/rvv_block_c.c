/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of rvv_block.c in C, for other machines; tests compare both. */
#include "tilewright/kernels/integer_rules.h"
#include "tilewright/kernels/runs.h"

#if !defined(__riscv) || __riscv_xlen != 32

static int32_t element(const uint8_t *at, const int32_t is_unsigned)
{
    return is_unsigned != 0 ? *at : (int8_t)*at;
}

static int32_t sum_of(const struct tilewright_runs_job *job, int32_t p, int32_t c,
                      const int32_t is_depthwise, const int32_t is_unsigned)
{
    const int8_t *w = (const int8_t *)job->weights + c;
    int32_t sum = job->biased != 0 ? job->rows[c * job->row_bytes / 4] : 0;
    for (const struct tilewright_run *run = job->runs; run != job->runs_end; run++) {
        const uint8_t *x = run->pixel[p] + (is_depthwise != 0 ? job->offset + c : 0);
        const int32_t taps = is_depthwise != 0 ? 1 : run->taps;
        for (int32_t i = 0; i < taps; i++) {
            sum += element(x + i, is_unsigned) * *w;
            w += job->channels;
        }
    }
    return sum;
}

/* As in assembler, all pixels of the block are summed up before any is stored, and `finished` only
 * says by which rule: the sums are in job->sums, or in an array of a few channels. */
static void multiply(struct tilewright_runs_job *job, const int32_t is_depthwise,
                     const int32_t is_unsigned)
{
    enum { FEW = 16 };
    int32_t few[TILEWRIGHT_RUN_PIXELS * FEW];
    struct tilewright_runs_job part = *job;
    const int32_t is_kept = job->finished == tilewright_rvv_sums;
    const int32_t most = is_kept != 0 ? job->channels : FEW;

    for (int32_t done = 0; done < job->channels; done += most) {
        part.sums = is_kept != 0 ? job->sums : few;
        part.channels = tilewright_smaller(job->channels - done, most);
        for (int32_t p = 0; p < job->pixels; p++) {
            for (int32_t c = 0; c < part.channels; c++) {
                part.sums[p * part.channels + c] =
                    sum_of(job, p, done + c, is_depthwise, is_unsigned);
            }
        }
        part.finished(&part);
        part.rows += part.channels * (part.row_bytes / 4);
    }
}

#define TILEWRIGHT_RVV_PRODUCTS(name, is_depthwise, is_unsigned)                                   \
    void tilewright_rvv_##name(struct tilewright_runs_job *job)                                    \
    {                                                                                              \
        multiply(job, is_depthwise, is_unsigned);                                                  \
    }

TILEWRIGHT_RVV_PRODUCTS(products_signed, 0, 0)
TILEWRIGHT_RVV_PRODUCTS(products_unsigned, 0, 1)
TILEWRIGHT_RVV_PRODUCTS(channels_signed, 1, 0)
TILEWRIGHT_RVV_PRODUCTS(channels_unsigned, 1, 1)

TILEWRIGHT_INLINE void store(struct tilewright_runs_job *job, const enum tilewright_rule_kind rule)
{
    for (int32_t p = 0; p < job->pixels; p++) {
        const int32_t *row = job->rows;
        for (int32_t c = 0; c < job->channels; c++) {
            tilewright_store_sum(job->pixel[p], job->sums[p * job->channels + c],
                                 tilewright_constants_of(row, &job->limits, rule), &job->limits,
                                 rule);
            job->pixel[p] += job->channel_stride;
            row += job->row_bytes / 4;
        }
    }
}

void tilewright_rvv_folded(struct tilewright_runs_job *job)
{
    store(job, TILEWRIGHT_RULE_FOLDED);
}

void tilewright_rvv_layer(struct tilewright_runs_job *job)
{
    store(job, TILEWRIGHT_RULE_LAYER);
}

void tilewright_rvv_high(struct tilewright_runs_job *job)
{
    store(job, TILEWRIGHT_RULE_HIGH);
}

void tilewright_rvv_away(struct tilewright_runs_job *job)
{
    store(job, TILEWRIGHT_RULE_AWAY);
}

void tilewright_rvv_twice(struct tilewright_runs_job *job)
{
    store(job, TILEWRIGHT_RULE_TWICE);
}

void tilewright_rvv_sums(struct tilewright_runs_job *job)
{
    (void)job;
}

#endif
