/* SPDX-License-Identifier: Apache-2.0 */
/* Finishes of family mve: four sums at a time. Without these instructions the same in plain C. */
#include "tilewright/kernels/integer_rules.h"
#include "tilewright/kernels/mve.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

#if defined(__ARM_FEATURE_MVE)

/* clang-format off */
/* Load the constants of the next four channels: `rows` has the addresses of the four before. */
#define TILEWRIGHT_MVE_TWO_WORDS                                                                   \
    "vldrw.u32 q0, [%q[rows], #32]!\n"                                                             \
    "vldrw.u32 q1, [%q[rows], #4]\n"
#define TILEWRIGHT_MVE_FOUR_WORDS                                                                  \
    "vldrw.u32 q0, [%q[rows], #64]!\n"                                                             \
    "vldrw.u32 q1, [%q[rows], #4]\n"                                                               \
    "vldrw.u32 q3, [%q[rows], #8]\n"                                                               \
    "vldrw.u32 q7, [%q[rows], #12]\n"                                                              \
    "vneg.s32 q7, q7\n"

#define TILEWRIGHT_MVE_FOLDED                                                                      \
    "vmul.i32 q2, q2, q0\n"                                                                        \
    "vadd.i32 q2, q2, q1\n"                                                                        \
    "vshl.s32 q2, %[shift]\n"
#define TILEWRIGHT_MVE_LAYER                                                                       \
    "vadd.i32 q2, q2, q0\n"                                                                        \
    "vmulh.s32 q2, q2, q1\n"                                                                       \
    "vadd.i32 q2, q2, %[addend]\n"                                                                 \
    "vshl.s32 q2, %[shift]\n"
#define TILEWRIGHT_MVE_HIGH                                                                        \
    "vadd.i32 q2, q2, q0\n"                                                                        \
    "vmulh.s32 q2, q2, q1\n"                                                                       \
    "vadd.i32 q2, q2, q3\n"                                                                        \
    "vshl.s32 q2, q2, q7\n"

#define TILEWRIGHT_MVE_STORE(rule, pixel)                                                          \
    rule                                                                                           \
    "vmax.s32 q2, q2, %q[minimum]\n"                                                               \
    "vmin.s32 q2, q2, %q[maximum]\n"                                                               \
    "vstrb.32 q2, [" pixel "], #4\n"

#define TILEWRIGHT_MVE_OF_ONE(words, rule)                                                         \
    "wlstp.32 lr, %[count], 2f\n"                                                                  \
    "1:\n"                                                                                         \
    words                                                                                          \
    "vldrw.32 q2, [%[sums]], #16\n"                                                                \
    TILEWRIGHT_MVE_STORE(rule, "%[a]")                                                             \
    "letp lr, 1b\n"                                                                                \
    "2:\n"

#define TILEWRIGHT_MVE_OF_THREE(words, rule)                                                       \
    "wlstp.32 lr, %[count], 2f\n"                                                                  \
    "1:\n"                                                                                         \
    words                                                                                          \
    "vldrw.32 q2, [%[sums], #128]\n"                                                               \
    TILEWRIGHT_MVE_STORE(rule, "%[b]")                                                             \
    "vldrw.32 q2, [%[sums], #256]\n"                                                               \
    TILEWRIGHT_MVE_STORE(rule, "%[c]")                                                             \
    "vldrw.32 q2, [%[sums]], #16\n"                                                                \
    TILEWRIGHT_MVE_STORE(rule, "%[a]")                                                             \
    "letp lr, 1b\n"                                                                                \
    "2:\n"

#define TILEWRIGHT_MVE_RUN(text)                                                                   \
    __asm__ volatile(text                                                                          \
                     : [rows] "+w"(rows), [sums] "+r"(sums), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c) \
                     : [count] "r"(job->channels), [shift] "r"(shift), [addend] "r"(addend),       \
                       [minimum] "w"(minimum), [maximum] "w"(maximum)                              \
                     : "lr", "memory", "q0", "q1", "q2", "q3", "q7")
#define TILEWRIGHT_MVE_FINISH(words, rule)                                                         \
    if (job->pixels == 1) {                                                                        \
        TILEWRIGHT_MVE_RUN(TILEWRIGHT_MVE_OF_ONE(words, rule));                                    \
    } else {                                                                                       \
        TILEWRIGHT_MVE_RUN(TILEWRIGHT_MVE_OF_THREE(words, rule));                                  \
    }
/* clang-format on */

/* Channels side by side. */
TILEWRIGHT_INLINE void finish_beside(const struct tilewright_runs_job *job,
                                     const enum tilewright_rule_kind rule)
{
    const int32_t *sums = job->sums;
    uint8_t *a = job->pixel[0], *b = job->pixel[1], *c = job->pixel[2];
    const uint32_t first = (uint32_t)(uintptr_t)job->rows - 4u * (uint32_t)job->row_bytes;
    uint32x4_t rows = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)job->row_bytes);
    const int32x4_t minimum = vdupq_n_s32(job->limits.minimum);
    const int32x4_t maximum = vdupq_n_s32(job->limits.maximum);
    const int32_t shift = -job->limits.shift, addend = job->limits.addend;

    rows = vaddq_n_u32(rows, first);
    if (rule == TILEWRIGHT_RULE_FOLDED) {
        TILEWRIGHT_MVE_FINISH(TILEWRIGHT_MVE_TWO_WORDS, TILEWRIGHT_MVE_FOLDED)
    } else if (rule == TILEWRIGHT_RULE_LAYER) {
        TILEWRIGHT_MVE_FINISH(TILEWRIGHT_MVE_TWO_WORDS, TILEWRIGHT_MVE_LAYER)
    } else {
        TILEWRIGHT_MVE_FINISH(TILEWRIGHT_MVE_FOUR_WORDS, TILEWRIGHT_MVE_HIGH)
    }
}

#endif

/* Channels that may lie apart. */
TILEWRIGHT_INLINE void finish_apart(const struct tilewright_runs_job *job,
                                    const enum tilewright_rule_kind rule)
{
    const struct tilewright_limits limits = job->limits;
    for (int32_t p = 0; p < job->pixels; p++) {
        const int32_t *row = job->rows;
        uint8_t *at = job->pixel[p];
        for (int32_t c = 0; c < job->channels; c++) {
            const int32_t bias = rule == TILEWRIGHT_RULE_FOLDED ? 0 : *row;
            tilewright_store_sum(at, job->sums[p * CHANNELS + c] + bias,
                                 tilewright_constants_of(row, &limits, rule), &limits, rule);
            at += job->channel_stride;
            row += job->row_bytes / 4;
        }
    }
}

TILEWRIGHT_INLINE void finish(struct tilewright_runs_job *job, const enum tilewright_rule_kind rule)
{
#if defined(__ARM_FEATURE_MVE)
    if (job->channel_stride == 1) {
        finish_beside(job, rule);
    } else {
        finish_apart(job, rule);
    }
#else
    finish_apart(job, rule);
#endif
    for (int32_t p = 0; p < job->pixels; p++) {
        job->pixel[p] += job->channels * job->channel_stride;
    }
}

void tilewright_mve_folded(struct tilewright_runs_job *job)
{
    finish(job, TILEWRIGHT_RULE_FOLDED);
}

void tilewright_mve_layer(struct tilewright_runs_job *job)
{
    finish(job, TILEWRIGHT_RULE_LAYER);
}

void tilewright_mve_high(struct tilewright_runs_job *job)
{
    finish(job, TILEWRIGHT_RULE_HIGH);
}

/* The finish for rules whose functions are in C: it does nothing, so the job keeps the sums. */
void tilewright_mve_sums(struct tilewright_runs_job *job)
{
    (void)job;
}
