/* SPDX-License-Identifier: Apache-2.0 */
/* Finishes of family mve: four sums at a time, or, where a job has no sums, products of four
 * channels and three pixels with their finish. Without these instructions finishes in plain C. */
#include "tilewright/kernels/integer_rules.h"
#include "tilewright/kernels/mve.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

#if defined(__ARM_FEATURE_MVE)

/* clang-format off */
/* Rules of four words, whose constants do not fit in registers together: `rows` has the addresses of those of four
 * channels, `sums` the sums and then the elements; t, u and v are free. Shifts look at the lowest byte of a lane. */
#define TILEWRIGHT_MVE_AWAY_OF(sums, rows, t, u, v)                                                \
    "vldrw.u32 " t ", [" rows "]\n"                                                                \
    "vadd.i32 " sums ", " sums ", " t "\n"                                                         \
    "vldrw.u32 " t ", [" rows ", #4]\n"                                                            \
    "vmulh.s32 " u ", " sums ", " t "\n"                                                           \
    "vshr.s32 " t ", " t ", #31\n"                                                                 \
    "vand " t ", " t ", " sums "\n"                                                                \
    "vadd.i32 " u ", " u ", " t "\n"                                                               \
    "vldrw.u32 " v ", [" rows ", #12]\n"                                                           \
    "vshr.s32 " t ", " v ", #8\n"                                                                  \
    "vsub.i32 " t ", " sums ", " t "\n"                                                            \
    "vshr.s32 " t ", " t ", #31\n"                                                                 \
    "vadd.i32 " u ", " u ", " t "\n"                                                               \
    "vldrw.u32 " t ", [" rows ", #8]\n"                                                            \
    "vadd.i32 " u ", " u ", " t "\n"                                                               \
    "vneg.s32 " v ", " v "\n"                                                                      \
    "vshl.s32 " sums ", " u ", " v "\n"
#define TILEWRIGHT_MVE_TWICE_OF(sums, rows, t, u, v)                                               \
    "vldrw.u32 " t ", [" rows "]\n"                                                                \
    "vadd.i32 " sums ", " sums ", " t "\n"                                                         \
    "vldrw.u32 " t ", [" rows ", #4]\n"                                                            \
    "vshr.u32 " t ", " t ", #1\n"                                                                  \
    "vqrdmulh.s32 " u ", " sums ", " t "\n"                                                        \
    "vldrw.u32 " v ", [" rows ", #12]\n"                                                           \
    "vneg.s32 " v ", " v "\n"                                                                      \
    "vshr.s32 " t ", " u ", #31\n"                                                                 \
    "vadd.i32 " u ", " u ", " t "\n"                                                               \
    "vldrw.u32 " t ", [" rows ", #8]\n"                                                            \
    "vadd.i32 " u ", " u ", " t "\n"                                                               \
    "vshl.s32 " sums ", " u ", " v "\n"

/* Load the constants of the next four channels: `rows` has the addresses of the four before. */
#define TILEWRIGHT_MVE_NEXT_ROWS "vldrw.u32 q0, [%q[rows], #64]!\n"
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

#define TILEWRIGHT_MVE_AWAY TILEWRIGHT_MVE_AWAY_OF("q2", "%q[rows]", "q0", "q1", "q3")
#define TILEWRIGHT_MVE_TWICE TILEWRIGHT_MVE_TWICE_OF("q2", "%q[rows]", "q0", "q1", "q3")

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
    } else if (rule == TILEWRIGHT_RULE_AWAY) {
        TILEWRIGHT_MVE_FINISH(TILEWRIGHT_MVE_NEXT_ROWS, TILEWRIGHT_MVE_AWAY)
    } else if (rule == TILEWRIGHT_RULE_TWICE) {
        TILEWRIGHT_MVE_FINISH(TILEWRIGHT_MVE_NEXT_ROWS, TILEWRIGHT_MVE_TWICE)
    } else {
        TILEWRIGHT_MVE_FINISH(TILEWRIGHT_MVE_FOUR_WORDS, TILEWRIGHT_MVE_HIGH)
    }
}

_Static_assert(offsetof(struct tilewright_runs_job, weights) == 8 &&
                   offsetof(struct tilewright_runs_job, rows) == 12 &&
                   offsetof(struct tilewright_runs_job, channels) == 20 &&
                   offsetof(struct tilewright_runs_job, pixel) == 24 &&
                   offsetof(struct tilewright_runs_job, limits) == 44 &&
                   offsetof(struct tilewright_runs_job, gathered) == 76 &&
                   offsetof(struct tilewright_runs_job, taps) == 84 && PIXELS == 3,
               "the assembler has these numbers");

/* clang-format off */
/* Sums of two channels, in lanes of q4, q5 and q6; then pointers go back to the pixels' first taps,
 * and by `distance` on to weights. */
#define TILEWRIGHT_MVE_TWO(first, second, distance)                                                \
    TILEWRIGHT_MVE_STEP("vmladav.s8")                                                              \
    "wlstp.8 lr, r12, 3f\n"                                                                        \
    "2:\n"                                                                                         \
    TILEWRIGHT_MVE_STEP("vmladava.s8")                                                             \
    "letp lr, 2b\n"                                                                                \
    "3:\n"                                                                                         \
    "vmov q4[" second "], q4[" first "], r0, r2\n"                                                 \
    "vmov q5[" second "], q5[" first "], r4, r6\n"                                                 \
    "vmov q6[" second "], q6[" first "], r8, r10\n"                                                \
    "ldm sp, {r0, r1, r2, r3, r5}\n"                                                               \
    "add r7, r7, " distance "\n"                                                                   \
    "add r9, r9, " distance "\n"

#define TILEWRIGHT_MVE_EACH(rule) rule("q4") rule("q5") rule("q6")

#define TILEWRIGHT_MVE_FOLDED_SUMS(sums)                                                           \
    "vmul.i32 " sums ", " sums ", q0\n"                                                            \
    "vadd.i32 " sums ", " sums ", q1\n"                                                            \
    "vshl.s32 " sums ", r2\n"
#define TILEWRIGHT_MVE_LAYER_SUMS(sums)                                                            \
    "vadd.i32 " sums ", " sums ", q0\n"                                                            \
    "vmulh.s32 " sums ", " sums ", q1\n"                                                           \
    "vadd.i32 " sums ", " sums ", r0\n"                                                            \
    "vshl.s32 " sums ", r2\n"
#define TILEWRIGHT_MVE_HIGH_SUMS(sums)                                                             \
    "vadd.i32 " sums ", " sums ", q0\n"                                                            \
    "vmulh.s32 " sums ", " sums ", q1\n"                                                           \
    "vadd.i32 " sums ", " sums ", q2\n"                                                            \
    "vshl.s32 " sums ", " sums ", q3\n"

#define TILEWRIGHT_MVE_AWAY_SUMS(sums) TILEWRIGHT_MVE_AWAY_OF(sums, "q7", "q0", "q1", "q2")
#define TILEWRIGHT_MVE_TWICE_SUMS(sums) TILEWRIGHT_MVE_TWICE_OF(sums, "q7", "q0", "q1", "q2")

#define TILEWRIGHT_MVE_NEXT_ROW "vldrw.u32 q0, [q7, #64]!\n"
#define TILEWRIGHT_MVE_TWO_ROW_WORDS                                                               \
    "ldrd r0, r2, [sp, #20]\n"                                                                     \
    "vldrw.u32 q0, [q7, #32]!\n"                                                                   \
    "vldrw.u32 q1, [q7, #4]\n"
#define TILEWRIGHT_MVE_FOUR_ROW_WORDS                                                              \
    "vldrw.u32 q0, [q7, #64]!\n"                                                                   \
    "vldrw.u32 q1, [q7, #4]\n"                                                                     \
    "vldrw.u32 q2, [q7, #8]\n"                                                                     \
    "vldrw.u32 q3, [q7, #12]\n"                                                                    \
    "vneg.s32 q3, q3\n"

#define TILEWRIGHT_MVE_LIMITED(sums, pixel)                                                        \
    "vmax.s32 " sums ", " sums ", q0\n"                                                            \
    "vmin.s32 " sums ", " sums ", q1\n"                                                            \
    "vstrb.32 " sums ", [" pixel "], #4\n"

/* Products of fours of channels and all pixels, finished in registers; r0 is the job. Of four, those
 * of channels 0 and 2 are made first, then 1 and 3, so that the lanes have their order. On the stack
 * lie the bytes from the end of the second channel's vectors to the next four, the address of the
 * first pixel's taps, the bytes from the end of the first channel's vectors to the second, the
 * addresses of the other pixels' taps, addend, shift to the left, the end of the weights, limits. */
#define TILEWRIGHT_MVE_FOURS(words, rule)                                                          \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                                                \
    "vpush {d8, d9, d10, d11, d12, d13, d14, d15}\n"                                               \
    "mov r11, r0\n"                                                                                \
    "ldrd r2, r4, [r11, #44]\n"                                                                    \
    "vdup.32 q0, r2\n"                                                                             \
    "vdup.32 q1, r4\n"                                                                             \
    "sub sp, sp, #32\n"                                                                            \
    "vstrw.32 q0, [sp]\n"                                                                          \
    "vstrw.32 q1, [sp, #16]\n"                                                                     \
    "ldr r10, [r11, #84]\n"                                                                        \
    "ldr r1, [r11, #76]\n"                                                                         \
    "ldr r7, [r11, #8]\n"                                                                          \
    "ldr r8, [r11, #20]\n"                                                                         \
    "ldrd r4, r6, [r11, #52]\n"                                                                    \
    "rsbs r6, r6, #0\n"                                                                            \
    "mla r8, r8, r10, r7\n"                                                                        \
    "push {r4, r6, r8}\n"                                                                          \
    "add r4, r10, #15\n"                                                                           \
    "bic r4, r4, #15\n"                                                                            \
    "add r3, r1, r4\n"                                                                             \
    "add r5, r3, r4\n"                                                                             \
    "sub r2, r10, r4\n"                                                                            \
    "add r0, r2, r10, lsl #1\n"                                                                    \
    "add r9, r7, r10, lsl #1\n"                                                                    \
    "sub r12, r10, #16\n"                                                                          \
    "push {r0, r1, r2, r3, r5}\n"                                                                  \
    "ldrd r2, r4, [r11, #12]\n"                                                                    \
    "movs r0, #0\n"                                                                                \
    "vidup.u32 q7, r0, #1\n"                                                                       \
    "sub r2, r2, r4, lsl #2\n"                                                                     \
    "vmul.i32 q7, q7, r4\n"                                                                        \
    "vadd.i32 q7, q7, r2\n"                                                                        \
    "1:\n"                                                                                         \
    TILEWRIGHT_MVE_TWO("0", "2", "r2")                                                             \
    TILEWRIGHT_MVE_TWO("1", "3", "r0")                                                             \
    words                                                                                          \
    TILEWRIGHT_MVE_EACH(rule)                                                                      \
    "ldrd r0, r2, [r11, #24]\n"                                                                    \
    "vldrw.32 q0, [sp, #32]\n"                                                                     \
    "vldrw.32 q1, [sp, #48]\n"                                                                     \
    "ldr r4, [r11, #32]\n"                                                                         \
    "ldr r6, [sp, #28]\n"                                                                          \
    TILEWRIGHT_MVE_LIMITED("q4", "r0")                                                             \
    TILEWRIGHT_MVE_LIMITED("q5", "r2")                                                             \
    TILEWRIGHT_MVE_LIMITED("q6", "r4")                                                             \
    "strd r0, r2, [r11, #24]\n"                                                                    \
    "str r4, [r11, #32]\n"                                                                         \
    "cmp r7, r6\n"                                                                                 \
    "bne 1b\n"                                                                                     \
    "add sp, sp, #64\n"                                                                            \
    "vpop {d8, d9, d10, d11, d12, d13, d14, d15}\n"                                                \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
/* clang-format on */

__attribute__((naked, noinline)) static void
folded_fours(__attribute__((unused)) struct tilewright_runs_job *job)
{
    __asm__(TILEWRIGHT_MVE_FOURS(TILEWRIGHT_MVE_TWO_ROW_WORDS, TILEWRIGHT_MVE_FOLDED_SUMS));
}

__attribute__((naked, noinline)) static void
layer_fours(__attribute__((unused)) struct tilewright_runs_job *job)
{
    __asm__(TILEWRIGHT_MVE_FOURS(TILEWRIGHT_MVE_TWO_ROW_WORDS, TILEWRIGHT_MVE_LAYER_SUMS));
}

__attribute__((naked, noinline)) static void
high_fours(__attribute__((unused)) struct tilewright_runs_job *job)
{
    __asm__(TILEWRIGHT_MVE_FOURS(TILEWRIGHT_MVE_FOUR_ROW_WORDS, TILEWRIGHT_MVE_HIGH_SUMS));
}

__attribute__((naked, noinline)) static void
away_fours(__attribute__((unused)) struct tilewright_runs_job *job)
{
    __asm__(TILEWRIGHT_MVE_FOURS(TILEWRIGHT_MVE_NEXT_ROW, TILEWRIGHT_MVE_AWAY_SUMS));
}

__attribute__((naked, noinline)) static void
twice_fours(__attribute__((unused)) struct tilewright_runs_job *job)
{
    __asm__(TILEWRIGHT_MVE_FOURS(TILEWRIGHT_MVE_NEXT_ROW, TILEWRIGHT_MVE_TWICE_SUMS));
}

/* Multiplies and finishes fours of channels, which lie side by side. */
TILEWRIGHT_INLINE void finish_fours(struct tilewright_runs_job *job,
                                    const enum tilewright_rule_kind rule)
{
    if (rule == TILEWRIGHT_RULE_FOLDED) {
        folded_fours(job);
    } else if (rule == TILEWRIGHT_RULE_LAYER) {
        layer_fours(job);
    } else if (rule == TILEWRIGHT_RULE_AWAY) {
        away_fours(job);
    } else if (rule == TILEWRIGHT_RULE_TWICE) {
        twice_fours(job);
    } else {
        high_fours(job);
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
    if (job->sums == NULL) {
        finish_fours(job, rule);
        return;
    }
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

void tilewright_mve_away(struct tilewright_runs_job *job)
{
    finish(job, TILEWRIGHT_RULE_AWAY);
}

void tilewright_mve_twice(struct tilewright_runs_job *job)
{
    finish(job, TILEWRIGHT_RULE_TWICE);
}

/* The finish for rules whose functions are in C: it does nothing, so the job keeps the sums. */
void tilewright_mve_sums(struct tilewright_runs_job *job)
{
    (void)job;
}
