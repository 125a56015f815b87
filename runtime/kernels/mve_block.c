/* SPDX-License-Identifier: Apache-2.0 */
/* Products of family mve: 16 taps per instruction, or 16 channels of a depthwise convolution.
 * Without these instructions the same in plain C. */
#include "tilewright/kernels/integer_rules.h"
#include "tilewright/kernels/runs.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

enum { PIXELS = 2 };
enum { LANES = 16 };    /* bytes of a vector */
enum { CHANNELS = 16 }; /* whose sums are on the stack at a time; of a depthwise one a vector's */

/* Sums without biases: [pixel][CHANNELS]. */
struct sums {
    int32_t of[PIXELS * CHANNELS];
};

TILEWRIGHT_INLINE int32_t padded(int32_t taps)
{
    return (taps + LANES - 1) / LANES * LANES;
}

/* Adds the products of `taps` taps of some pixels, `step` bytes apart, and some channels. */
#if defined(__ARM_FEATURE_MVE)
/* Multiplies whole vectors of taps of two pixels and two channels, or of one pixel and four
 * channels: `at` are the addresses of the pixels, then of the channels' weights. */
TILEWRIGHT_INLINE void add_vectors(const int8_t *const *at, int32_t count, int32_t *sum,
                                   const int32_t pixels)
{
    const int8_t *a = at[0], *b = at[1], *c = at[2], *d = at[3], *e = at[4];
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    if (pixels == 2) {
        __asm__("dls lr, %[count]\n"
                "1:\n"
                "vldrb.8 q0, [%[a]], #16\n"
                "vldrb.8 q1, [%[b]], #16\n"
                "vldrb.8 q2, [%[c]], #16\n"
                "vmladava.s8 %[s0], q0, q2\n"
                "vmladava.s8 %[s1], q1, q2\n"
                "vldrb.8 q3, [%[d]], #16\n"
                "vmladava.s8 %[s2], q0, q3\n"
                "vmladava.s8 %[s3], q1, q3\n"
                "le lr, 1b\n"
                : [s0] "+Te"(s0), [s1] "+Te"(s1), [s2] "+Te"(s2), [s3] "+Te"(s3), [a] "+r"(a),
                  [b] "+r"(b), [c] "+r"(c), [d] "+r"(d)
                : [count] "r"(count)
                : "lr", "memory", "q0", "q1", "q2", "q3");
    } else {
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
                : [count] "r"(count)
                : "lr", "memory", "q0", "q1", "q2");
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

TILEWRIGHT_INLINE void add_taps(const int8_t *x, int32_t step, const int8_t *w, int32_t taps,
                                int32_t *sums, const int32_t pixels, const int32_t channels)
{
    const int32_t whole = taps / LANES * LANES;
    int32_t sum[4] = {0, 0, 0, 0};

    if (whole != 0 && pixels * channels == 4) {
        const int8_t *const two[] = {x, x + step, w, w + taps, NULL};
        const int8_t *const one[] = {x, w, w + taps, w + 2 * taps, w + 3 * taps};
        add_vectors(pixels == 2 ? two : one, taps / LANES, sum, pixels);
    }
    for (int32_t done = pixels * channels == 4 ? whole : 0; done < taps; done += LANES) {
        const mve_pred16_t held = vctp8q((uint32_t)(taps - done));
        TILEWRIGHT_UNROLL_4
        for (int32_t c = 0; c < channels; c++) {
            const int8x16_t factors = vldrbq_z_s8(w + c * taps + done, held);
            for (int32_t p = 0; p < pixels; p++) {
                sum[c * pixels + p] =
                    vmladavaq_s8(sum[c * pixels + p], vldrbq_s8(x + p * step + done), factors);
            }
        }
    }
    for (int32_t c = 0; c < channels; c++) {
        for (int32_t p = 0; p < pixels; p++) {
            sums[p * CHANNELS + c] = sum[c * pixels + p];
        }
    }
}
#else
TILEWRIGHT_INLINE void add_taps(const int8_t *x, int32_t step, const int8_t *w, int32_t taps,
                                int32_t *sums, const int32_t pixels, const int32_t channels)
{
    for (int32_t c = 0; c < channels; c++) {
        for (int32_t p = 0; p < pixels; p++) {
            int32_t sum = 0;
            for (int32_t i = 0; i < taps; i++) {
                sum += x[p * step + i] * w[c * taps + i];
            }
            sums[p * CHANNELS + c] = sum;
        }
    }
}
#endif

static TILEWRIGHT_NOINLINE void of_two(const struct tilewright_runs_job *job, const int8_t *w,
                                       int32_t *sums, int32_t count)
{
    const int8_t *const x = (const int8_t *)job->gathered;
    const int32_t taps = job->taps, step = padded(taps);
    for (; count >= 2; count -= 2) {
        add_taps(x, step, w, taps, sums, 2, 2);
        w += 2 * taps;
        sums += 2;
    }
    if (count > 0) {
        add_taps(x, step, w, taps, sums, 2, 1);
    }
}

static TILEWRIGHT_NOINLINE void of_one(const struct tilewright_runs_job *job, const int8_t *w,
                                       int32_t *sums, int32_t count)
{
    const int8_t *const x = (const int8_t *)job->gathered;
    const int32_t taps = job->taps;
    for (; count >= 4; count -= 4) {
        add_taps(x, 0, w, taps, sums, 1, 4);
        w += 4 * taps;
        sums += 4;
    }
    for (; count > 0; count--) {
        add_taps(x, 0, w, taps, sums, 1, 1);
        w += taps;
        sums++;
    }
}

/* A part of the job's channels, up to CHANNELS, whose sums are there: finishes them, or keeps them
 * with their biases for the rule's function in C. */
TILEWRIGHT_INLINE void finish_part(const struct tilewright_runs_job *job,
                                   struct tilewright_runs_job *part, int32_t first)
{
    if (job->finished != tilewright_mve_sums) {
        part->finished(part);
    } else {
        for (int32_t p = 0; p < job->pixels; p++) {
            for (int32_t c = 0; c < part->channels; c++) {
                job->sums[p * job->channels + first + c] =
                    part->sums[p * CHANNELS + c] + part->rows[c * (part->row_bytes / 4)];
            }
        }
    }
    part->rows += part->channels * (part->row_bytes / 4);
}

TILEWRIGHT_INLINE void products(struct tilewright_runs_job *job, const int32_t is_unsigned)
{
    struct sums sums;
    struct tilewright_runs_job part = *job;
    const int8_t *weights = (const int8_t *)job->weights;

    for (int32_t p = 0; job->offset == 0 && p < job->pixels; p++) {
        uint8_t *const out = job->gathered + p * padded(job->taps);
        tilewright_gather_pixel(job, p, out);
        for (int32_t i = 0; is_unsigned != 0 && i < job->taps; i++) {
            out[i] ^= 0x80u;
        }
        /* What stands behind the last tap is multiplied by zero. */
    }
    part.sums = sums.of;
    for (int32_t done = 0; done < job->channels; done += CHANNELS) {
        part.channels = tilewright_smaller(job->channels - done, CHANNELS);
        if (job->pixels == 1) {
            of_one(job, weights, sums.of, part.channels);
        } else {
            of_two(job, weights, sums.of, part.channels);
        }
        weights += part.channels * job->taps;
        finish_part(job, &part, done);
    }
}

void tilewright_mve_products_signed(struct tilewright_runs_job *job)
{
    products(job, 0);
}

void tilewright_mve_products_unsigned(struct tilewright_runs_job *job)
{
    products(job, 1);
}

/* The sums of up to 16 channels of one pixel, each with its own weights, `step` bytes apart. */
#if defined(__ARM_FEATURE_MVE)
TILEWRIGHT_INLINE void add_channels(const struct tilewright_runs_job *job, int32_t p,
                                    int32_t offset, const int8_t *w, int32_t count, int32_t *sums,
                                    const int32_t is_unsigned)
{
    const mve_pred16_t held = vctp8q((uint32_t)count);
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
        w += job->channels;
    }
    /* Lane i of the four has channels 4i, 4i + 2, 4i + 1 and 4i + 3. */
    const int32x4x4_t all = {{even, odd, even_top, odd_top}};
    vst4q_s32(sums, all);
}
#else
TILEWRIGHT_INLINE void add_channels(const struct tilewright_runs_job *job, int32_t p,
                                    int32_t offset, const int8_t *w, int32_t count, int32_t *sums,
                                    const int32_t is_unsigned)
{
    for (int32_t c = 0; c < count; c++) {
        const int8_t *weights = w + c;
        sums[c] = 0;
        for (const struct tilewright_run *run = job->runs; run != job->runs_end; run++) {
            const uint8_t x = run->pixel[p][offset + c];
            sums[c] += (int8_t)(is_unsigned != 0 ? x ^ 0x80u : x) * *weights;
            weights += job->channels;
        }
    }
}
#endif

TILEWRIGHT_INLINE void channels(struct tilewright_runs_job *job, const int32_t is_unsigned)
{
    struct sums sums;
    struct tilewright_runs_job part = *job;

    part.sums = sums.of;
    for (int32_t done = 0; done < job->channels; done += CHANNELS) {
        part.channels = tilewright_smaller(job->channels - done, CHANNELS);
        for (int32_t p = 0; p < job->pixels; p++) {
            add_channels(job, p, job->offset + done, (const int8_t *)job->weights + done,
                         part.channels, sums.of + p * CHANNELS, is_unsigned);
        }
        finish_part(job, &part, done);
    }
}

void tilewright_mve_channels_signed(struct tilewright_runs_job *job)
{
    channels(job, 0);
}

void tilewright_mve_channels_unsigned(struct tilewright_runs_job *job)
{
    channels(job, 1);
}

#if defined(__ARM_FEATURE_MVE)

TILEWRIGHT_INLINE void finish(struct tilewright_runs_job *job, const enum tilewright_rule_kind rule)
{
    const int32_t words = job->row_bytes / 4, stride = job->channel_stride;
    const uint32x4_t lanes = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)words);
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)stride);
    const struct tilewright_limits limits = job->limits;
    const int32x4_t minimum = vdupq_n_s32(limits.minimum), maximum = vdupq_n_s32(limits.maximum);

    for (int32_t done = 0; done < job->channels; done += 4) {
        const int32_t *const row = job->rows + done * words;
        const mve_pred16_t held = vctp32q((uint32_t)(job->channels - done));
        const int32_t at = rule == TILEWRIGHT_RULE_FOLDED ? 0 : 1;
        const int32x4_t factors = vldrwq_gather_shifted_offset_z_s32(row + at, lanes, held);
        for (int32_t p = 0; p < job->pixels; p++) {
            int32x4_t value = vldrwq_s32(job->sums + p * CHANNELS + done);
            int32x4_t addend = vdupq_n_s32(limits.addend), shift = vdupq_n_s32(-limits.shift);
            if (rule == TILEWRIGHT_RULE_FOLDED) {
                addend = vldrwq_gather_shifted_offset_z_s32(row + 1, lanes, held);
                value = vmulq_s32(value, factors);
            } else {
                value = vaddq_s32(value, vldrwq_gather_shifted_offset_z_s32(row, lanes, held));
                value = vmulhq_s32(value, factors);
            }
            if (rule == TILEWRIGHT_RULE_HIGH) {
                addend = vldrwq_gather_shifted_offset_z_s32(row + 2, lanes, held);
                shift = vnegq_s32(vldrwq_gather_shifted_offset_z_s32(row + 3, lanes, held));
            }
            value = vshlq_s32(vaddq_s32(value, addend), shift);
            value = vminq_s32(vmaxq_s32(value, minimum), maximum);
            if (stride == 1) {
                vstrbq_p_s32((int8_t *)job->pixel[p], value, held);
            } else {
                vstrbq_scatter_offset_p_s32((int8_t *)job->pixel[p], places, value, held);
            }
            job->pixel[p] += tilewright_smaller(job->channels - done, 4) * stride;
        }
    }
}

#else

TILEWRIGHT_INLINE void finish(struct tilewright_runs_job *job, const enum tilewright_rule_kind rule)
{
    const struct tilewright_limits limits = job->limits;
    for (int32_t p = 0; p < job->pixels; p++) {
        const int32_t *row = job->rows;
        for (int32_t c = 0; c < job->channels; c++) {
            const int32_t bias = rule == TILEWRIGHT_RULE_FOLDED ? 0 : *row;
            tilewright_store_sum(job->pixel[p], job->sums[p * CHANNELS + c] + bias,
                                 tilewright_constants_of(row, &limits, rule), &limits, rule);
            job->pixel[p] += job->channel_stride;
            row += job->row_bytes / 4;
        }
    }
}

#endif

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

/* Stands for rules whose functions are in C: the job keeps the sums. */
void tilewright_mve_sums(struct tilewright_runs_job *job)
{
    (void)job;
}
