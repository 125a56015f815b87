/* SPDX-License-Identifier: Apache-2.0 */
/* Products of family mve: 16 taps per instruction, or 16 channels of a depthwise convolution.
 * Without these instructions the same in plain C. */
#include "tilewright/kernels/mve.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

/* Sums without biases: [pixel][CHANNELS]. */
struct sums {
    int32_t of[PIXELS * CHANNELS];
};

/* Gathered taps of `PIXELS` pixels, `step` bytes apart, and pairs of channels: the weights of the
 * second channel are `between` bytes behind those of the first. The assembler knows the order of
 * the fields. */
struct block {
    const int8_t *x;
    int32_t step;
    const int8_t *weights;
    int32_t between;
    int32_t *sums;
    const int32_t *sums_end;
    int32_t rewind;  /* bytes by which the loop moves pointers: whole vectors */
    int32_t advance; /* bytes from there to the weights of the next pair */
    int32_t rest;    /* taps behind those of the first vector; below 0: it is not whole */
};

#if defined(__ARM_FEATURE_MVE)

/* clang-format off */
/* `first` sets the sums, r11 is where they go; the loop's last vector may be a part of one. */
#define TILEWRIGHT_MVE_PAIRS(first)                                                                \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                                                \
    "ldrd r1, r12, [r0]\n"                                                                         \
    "add r3, r1, r12\n"                                                                            \
    "add r5, r3, r12\n"                                                                            \
    "ldrd r7, r9, [r0, #8]\n"                                                                      \
    "add r9, r9, r7\n"                                                                             \
    "ldrd r11, r12, [r0, #16]\n"                                                                   \
    "ldrd r2, r4, [r0, #24]\n"                                                                     \
    "ldr r6, [r0, #32]\n"                                                                          \
    "push {r2, r4, r6, r12}\n"                                                                     \
    "mov r12, r6\n"                                                                                \
    "1:\n"                                                                                         \
    first                                                                                          \
    "wlstp.8 lr, r12, 3f\n"                                                                        \
    "2:\n"                                                                                         \
    TILEWRIGHT_MVE_STEP("vmladava.s8")                                                             \
    "letp lr, 2b\n"                                                                                \
    "3:\n"                                                                                         \
    "ldrd r12, lr, [sp]\n"                                                                         \
    "strd r4, r6, [r11, #128]\n"                                                                   \
    "strd r8, r10, [r11, #256]\n"                                                                  \
    "strd r0, r2, [r11], #8\n"                                                                     \
    "subs r1, r1, r12\n"                                                                           \
    "subs r3, r3, r12\n"                                                                           \
    "subs r5, r5, r12\n"                                                                           \
    "add r7, r7, lr\n"                                                                             \
    "ldrd r12, r0, [sp, #8]\n"                                                                     \
    "add r9, r9, lr\n"                                                                             \
    "cmp r11, r0\n"                                                                                \
    "bne 1b\n"                                                                                     \
    "add sp, sp, #16\n"                                                                            \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

/* Pairs of channels of at least one vector of taps. */
__attribute__((naked, noinline)) static void
add_pairs(__attribute__((unused)) const struct block *block)
{
    __asm__(TILEWRIGHT_MVE_PAIRS(TILEWRIGHT_MVE_STEP("vmladav.s8")));
}

/* Pairs of channels of fewer taps. */
__attribute__((naked, noinline)) static void
add_short_pairs(__attribute__((unused)) const struct block *block)
{
    __asm__(TILEWRIGHT_MVE_PAIRS("add r12, r12, #16\n"
                                 "movs r0, #0\n"
                                 "movs r2, #0\n"
                                 "movs r4, #0\n"
                                 "movs r6, #0\n"
                                 "mov r8, r0\n"
                                 "mov r10, r0\n"));
}
/* clang-format on */

TILEWRIGHT_INLINE void add(const struct block *block)
{
    if (block->rest < 0) {
        add_short_pairs(block);
    } else {
        add_pairs(block);
    }
}

/* The sums of `count` channels of all pixels; the last one of an odd number is its own pair. */
TILEWRIGHT_INLINE void of_all(const struct tilewright_runs_job *job, const int8_t *w, int32_t *sums,
                              int32_t count)
{
    const int32_t taps = job->taps, whole = tilewright_mve_padded(taps);
    struct block block = {(const int8_t *)job->gathered,
                          whole,
                          w,
                          taps,
                          sums,
                          NULL,
                          whole,
                          2 * taps - whole,
                          taps - LANES};
    const int32_t even = count & ~1;
    if (even > 0) {
        block.sums_end = sums + even;
        add(&block);
    }
    if (even != count) {
        block.weights += even * taps;
        block.between = 0;
        block.advance = 0;
        block.sums = sums + even;
        block.sums_end = sums + even + 2;
        add(&block);
    }
}

/* Multiplies whole vectors of taps of a pixel and four channels. */
TILEWRIGHT_INLINE void add_vectors(const int8_t *x, const int8_t *w, int32_t taps, int32_t *sum)
{
    const int8_t *a = x, *b = w, *c = w + taps, *d = w + 2 * taps, *e = w + 3 * taps;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    __asm__("dls lr, %[count]\n"
            "1:\n"
            "vldrb.8 q0, [%[a]], #16\n"
            "vldrb.8 q1, [%[b]], #16\n"
            "vldrb.8 q2, [%[c]], #16\n"
            "vmladava.s8 %[s0], q0, q1\n"
            "vmladava.s8 %[s1], q0, q2\n"
            "vldrb.8 q1, [%[d]], #16\n"
            "vldrb.8 q2, [%[e]], #16\n"
            "vmladava.s8 %[s2], q0, q1\n"
            "vmladava.s8 %[s3], q0, q2\n"
            "le lr, 1b\n"
            : [s0] "+Te"(s0), [s1] "+Te"(s1), [s2] "+Te"(s2), [s3] "+Te"(s3), [a] "+r"(a),
              [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [e] "+r"(e)
            : [count] "r"(taps / LANES)
            : "lr", "memory", "q0", "q1", "q2");
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

TILEWRIGHT_INLINE void add_taps(const int8_t *x, const int8_t *w, int32_t taps, int32_t *sums,
                                const int32_t channels)
{
    const int32_t whole = channels == 4 ? taps / LANES * LANES : 0;
    int32_t sum[4] = {0, 0, 0, 0};

    if (whole != 0) {
        add_vectors(x, w, taps, sum);
    }
    for (int32_t done = whole; done < taps; done += LANES) {
        const mve_pred16_t held = vctp8q((uint32_t)(taps - done));
        const int8x16_t elements = vldrbq_z_s8(x + done, held);
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < channels; c++) {
            const int8x16_t factors = vldrbq_z_s8(w + c * taps + done, held);
            sum[c] = vmladavaq_s8(sum[c], elements, factors);
        }
    }
    for (int32_t c = 0; c < channels; c++) {
        sums[c] = sum[c];
    }
}

#else

TILEWRIGHT_INLINE void add_taps(const int8_t *x, const int8_t *w, int32_t taps, int32_t *sums,
                                const int32_t channels)
{
    for (int32_t c = 0; c < channels; c++) {
        sums[c] = 0;
        for (int32_t i = 0; i < taps; i++) {
            sums[c] += x[i] * w[c * taps + i];
        }
    }
}

TILEWRIGHT_INLINE void of_all(const struct tilewright_runs_job *job, const int8_t *w, int32_t *sums,
                              int32_t count)
{
    for (int32_t p = 0; p < PIXELS; p++) {
        const int8_t *const x =
            (const int8_t *)job->gathered + p * tilewright_mve_padded(job->taps);
        add_taps(x, w, job->taps, sums + p * CHANNELS, count);
    }
}

#endif

static TILEWRIGHT_NOINLINE void of_one(const struct tilewright_runs_job *job, const int8_t *w,
                                       int32_t *sums, int32_t count)
{
    const int8_t *const x = (const int8_t *)job->gathered;
    const int32_t taps = job->taps;
    for (; count >= 4; count -= 4) {
        add_taps(x, w, taps, sums, 4);
        w += 4 * taps;
        sums += 4;
    }
    for (; count > 0; count--) {
        add_taps(x, w, taps, sums, 1);
        w += taps;
        sums++;
    }
}

/* Finishes a part of the job's channels, whose sums are there, or keeps the sums with their biases
 * for the rule's function in C. The job is that of the part. */
TILEWRIGHT_INLINE void finish_part(struct tilewright_runs_job *job, int32_t *kept, int32_t channels)
{
    const int32_t words = job->row_bytes / 4;
    if (job->finished != tilewright_mve_sums) {
        job->finished(job);
    } else {
        for (int32_t p = 0; p < job->pixels; p++) {
            for (int32_t c = 0; c < job->channels; c++) {
                kept[p * channels + c] = job->sums[p * CHANNELS + c] + job->rows[c * words];
            }
        }
    }
    job->rows += job->channels * words;
}

/* Channels, by fours, that the rule's function multiplies too. */
TILEWRIGHT_INLINE int32_t count_finished(const struct tilewright_runs_job *job)
{
#if defined(__ARM_FEATURE_MVE)
    const int32_t is_beside = job->pixels == PIXELS && job->channel_stride == 1;
    const int32_t is_whole = job->taps >= LANES && job->finished != tilewright_mve_sums;
    return (is_beside & is_whole) != 0 ? job->channels / TOGETHER * TOGETHER : 0;
#else
    (void)job;
    return 0;
#endif
}

TILEWRIGHT_INLINE void products(struct tilewright_runs_job *job, const int32_t is_unsigned)
{
    struct sums sums;
    const int32_t channels = job->channels, finished = count_finished(job);
    const int32_t *const rows = job->rows;
    int32_t *const kept = job->sums;
    const int8_t *weights = (const int8_t *)job->weights;

    if (job->offset == 0) {
        /* Bytes behind the last tap of a pixel are not multiplied. */
        tilewright_gather_pixels(job, 0, job->pixels, job->gathered,
                                 tilewright_mve_padded(job->taps), is_unsigned != 0 ? 0x80u : 0);
    }
    if (finished != 0) {
        job->sums = NULL;
        job->channels = finished;
        weights += finished * job->taps;
        finish_part(job, NULL, channels);
    }
    job->sums = sums.of;
    for (int32_t done = finished; done < channels; done += CHANNELS) {
        job->channels = tilewright_smaller(channels - done, CHANNELS);
        if (job->pixels == 1) {
            of_one(job, weights, sums.of, job->channels);
        } else {
            of_all(job, weights, sums.of, job->channels);
        }
        weights += job->channels * job->taps;
        finish_part(job, kept + done, channels);
    }
    job->channels = channels;
    job->rows = rows;
    job->sums = kept;
}

void tilewright_mve_products_signed(struct tilewright_runs_job *job)
{
    products(job, 0);
}

void tilewright_mve_products_unsigned(struct tilewright_runs_job *job)
{
    products(job, 1);
}

/* The sums of the job's channels, up to 16, of one pixel; each has its own weights, those of a tap
 * `step` bytes behind those of the tap before. */
#if defined(__ARM_FEATURE_MVE)
TILEWRIGHT_INLINE void add_channels(const struct tilewright_runs_job *job, int32_t p,
                                    int32_t offset, const int8_t *w, int32_t step, int32_t *sums,
                                    const int32_t is_unsigned)
{
    const mve_pred16_t held = vctp8q((uint32_t)job->channels);
    const int8x16_t flip = vdupq_n_s8(is_unsigned != 0 ? INT8_MIN : 0);
    int32x4_t even = vdupq_n_s32(0), even_top = even, odd = even, odd_top = even;
    for (const struct tilewright_run *run = job->runs; run != job->runs_end; run++) {
        int8x16_t x = vldrbq_z_s8((const int8_t *)run->pixel[p] + offset, held);
        const int8x16_t weights = vldrbq_z_s8(w, held);
        if (is_unsigned != 0) {
            x = veorq_s8(x, flip);
        }
        const int16x8_t evens = vmullbq_int_s8(x, weights);
        const int16x8_t odds = vmulltq_int_s8(x, weights);
        even = vaddq_s32(even, vmovlbq_s16(evens));
        even_top = vaddq_s32(even_top, vmovltq_s16(evens));
        odd = vaddq_s32(odd, vmovlbq_s16(odds));
        odd_top = vaddq_s32(odd_top, vmovltq_s16(odds));
        w += step;
    }
    /* Lane i of the four has channels 4i, 4i + 2, 4i + 1 and 4i + 3. */
    const int32x4x4_t all = {{even, odd, even_top, odd_top}};
    vst4q_s32(sums, all);
}
#else
TILEWRIGHT_INLINE void add_channels(const struct tilewright_runs_job *job, int32_t p,
                                    int32_t offset, const int8_t *w, int32_t step, int32_t *sums,
                                    const int32_t is_unsigned)
{
    for (int32_t c = 0; c < job->channels; c++) {
        const int8_t *weights = w + c;
        sums[c] = 0;
        for (const struct tilewright_run *run = job->runs; run != job->runs_end; run++) {
            const uint8_t x = run->pixel[p][offset + c];
            sums[c] += (int8_t)(is_unsigned != 0 ? x ^ 0x80u : x) * *weights;
            weights += step;
        }
    }
}
#endif

TILEWRIGHT_INLINE void channels(struct tilewright_runs_job *job, const int32_t is_unsigned)
{
    struct sums sums;
    const int32_t count = job->channels;
    const int32_t *const rows = job->rows;
    int32_t *const kept = job->sums;

    job->sums = sums.of;
    for (int32_t done = 0; done < count; done += LANES) {
        job->channels = tilewright_smaller(count - done, LANES);
        for (int32_t p = 0; p < job->pixels; p++) {
            add_channels(job, p, job->offset + done, (const int8_t *)job->weights + done, count,
                         sums.of + p * CHANNELS, is_unsigned);
        }
        finish_part(job, kept + done, count);
    }
    job->channels = count;
    job->rows = rows;
    job->sums = kept;
}

void tilewright_mve_channels_signed(struct tilewright_runs_job *job)
{
    channels(job, 0);
}

void tilewright_mve_channels_unsigned(struct tilewright_runs_job *job)
{
    channels(job, 1);
}
