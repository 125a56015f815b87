/* SPDX-License-Identifier: Apache-2.0 */
/* Products of family dsp: two taps per instruction, of 16-bit elements that are gathered once for
 * all channels. Without these instructions the same in plain C. */
#include "tilewright/kernels/dsp_rules.h"
#include "tilewright/kernels/runs.h"

enum { QUAD = 4 };      /* taps whose elements stand together */
enum { PIXELS = 3 };    /* the words of a quad are taps 0 and 2 of each pixel, then taps 1 and 3 */
enum { CHANNELS = 32 }; /* channels whose sums are on the stack at a time; a multiple of 4 */
enum { QUAD_WORDS = PIXELS * QUAD / 2 };

/* The pixels whose taps are gathered. */
TILEWRIGHT_INLINE int32_t pixels_of(const struct tilewright_runs_job *job)
{
    return job->pixels == 1 ? 1 : PIXELS;
}

TILEWRIGHT_INLINE uint32_t extended(uint32_t bytes, const int32_t is_unsigned)
{
    return is_unsigned != 0 ? bytes & 0x00ff00ffu : tilewright_dsp_even(bytes);
}

/* Gathers the taps of the job's pixels, zeros behind the last tap. */
TILEWRIGHT_INLINE void gather(const struct tilewright_runs_job *job, const int32_t is_unsigned)
{
    const int32_t quads = job->taps / QUAD, pixels = pixels_of(job);
    uint8_t *const bytes = job->gathered + 4 * QUAD_WORDS * quads;

    /* Taps are padded to whole quads, with weights of zero. */
    tilewright_store_word(bytes + QUAD * (quads - 1), 0);
    for (int32_t p = 0; p < pixels; p++) {
        uint32_t *restrict out = (uint32_t *)(void *)job->gathered + p;
        const uint8_t *from = bytes;
        tilewright_gather_pixels(job, p, p + 1, bytes, 0, 0);
        for (int32_t n = quads; n > 0; n--) {
            const uint32_t word = tilewright_load_word(from);
            out[0] = extended(word, is_unsigned);
            out[pixels] = is_unsigned != 0 ? extended(word >> 8, 1) : tilewright_dsp_odd(word);
            out += 2 * pixels;
            from += QUAD;
        }
    }
}

/* Adds the products of a quad of a channel to the sums of all pixels, or of one. */
TILEWRIGHT_INLINE void add_word(const uint32_t *x, uint32_t weights, int32_t *sums,
                                const int32_t pixels)
{
    const uint32_t even = tilewright_dsp_even(weights), odd = tilewright_dsp_odd(weights);
    for (int32_t p = 0; p < pixels; p++) {
        sums[p] = tilewright_dsp_dual(x[p], even, sums[p]);
        sums[p] = tilewright_dsp_dual(x[pixels + p], odd, sums[p]);
    }
}

/* What the loops over channels read. The assembler knows the order of the fields. */
struct block {
    const uint32_t *x;
    const int8_t *weights;
    int32_t *sums; /* [channel][pixel]; the loops move it to the end */
    const int32_t *sums_end;
    int32_t quads;
    int32_t pair_size; /* bytes of weights of a pair of channels */
};

#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

_Static_assert(sizeof(struct block) == 24, "the assembler knows where the fields are");

/* clang-format off */
/* Weights of a channel for three pixels, whose elements are in r8 to r10. */
#define TILEWRIGHT_DSP_THREE(weights, s0, s1, s2)                                                  \
    "sxtb16 lr, " weights "\n"                                                                     \
    "smlad " s0 ", r8, lr, " s0 "\n"                                                               \
    "smlad " s1 ", r9, lr, " s1 "\n"                                                               \
    "smlad " s2 ", r10, lr, " s2 "\n"
/* A quad of two channels: r2 to r4 the sums of the first one, r5 to r7 those of the second. */
#define TILEWRIGHT_DSP_PAIR                                                                        \
    "ldm r1!, {r11, r12}\n"                                                                        \
    "ldm r0!, {r8, r9, r10}\n"                                                                     \
    TILEWRIGHT_DSP_THREE("r11", "r2", "r3", "r4")                                                  \
    TILEWRIGHT_DSP_THREE("r12", "r5", "r6", "r7")                                                  \
    "ldm r0!, {r8, r9, r10}\n"                                                                     \
    TILEWRIGHT_DSP_THREE("r11, ror #8", "r2", "r3", "r4")                                          \
    TILEWRIGHT_DSP_THREE("r12, ror #8", "r5", "r6", "r7")

/* Weights of two channels for one pixel, whose elements are in r8 and r9. */
#define TILEWRIGHT_DSP_TWO(weights, s0, s1)                                                        \
    "ldm " weights "!, {r11, r12}\n"                                                               \
    "sxtb16 lr, r11\n"                                                                             \
    "sxtb16 r11, r11, ror #8\n"                                                                    \
    "smlad " s0 ", r8, lr, " s0 "\n"                                                               \
    "smlad " s0 ", r9, r11, " s0 "\n"                                                              \
    "sxtb16 lr, r12\n"                                                                             \
    "sxtb16 r12, r12, ror #8\n"                                                                    \
    "smlad " s1 ", r8, lr, " s1 "\n"                                                               \
    "smlad " s1 ", r9, r12, " s1 "\n"
#define TILEWRIGHT_DSP_FOUR                                                                        \
    "ldm r0!, {r8, r9}\n"                                                                          \
    TILEWRIGHT_DSP_TWO("r1", "r4", "r5") TILEWRIGHT_DSP_TWO("r10", "r6", "r7")

/* All channels of a block: `step` for each quad, four quads in a round of the loop. r0 the elements,
 * r1 the weights. On the stack lie the block's address and the end of the whole rounds' weights. */
#define TILEWRIGHT_DSP_CHANNELS(begin, step, end)                                                  \
    "push {r0, r1, r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n"                                   \
    "ldr r1, [r0, #4]\n"                                                                           \
    "1:\n"                                                                                         \
    "ldr r12, [sp]\n"                                                                              \
    "ldr r0, [r12]\n"                                                                              \
    "ldrd r8, r9, [r12, #16]\n"                                                                    \
    begin                                                                                          \
    "add r9, r9, r1\n"                                                                             \
    "str r9, [sp, #4]\n"                                                                           \
    "lsrs r8, r8, #1\n"                                                                            \
    "bcc 2f\n"                                                                                     \
    step                                                                                           \
    "ldr r8, [sp]\n"                                                                               \
    "ldr r8, [r8, #16]\n"                                                                          \
    "lsrs r8, r8, #1\n"                                                                            \
    "2:\n"                                                                                         \
    "lsrs r8, r8, #1\n"                                                                            \
    "bcc 3f\n"                                                                                     \
    step step                                                                                      \
    "3:\n"                                                                                         \
    "ldr lr, [sp, #4]\n"                                                                           \
    "cmp r1, lr\n"                                                                                 \
    "beq 5f\n"                                                                                     \
    "4:\n"                                                                                         \
    step step step step                                                                            \
    "ldr lr, [sp, #4]\n"                                                                           \
    "cmp r1, lr\n"                                                                                 \
    "bne 4b\n"                                                                                     \
    "5:\n"                                                                                         \
    "ldr r12, [sp]\n"                                                                              \
    "ldrd r8, r9, [r12, #8]\n"                                                                     \
    end                                                                                            \
    "cmp r8, r9\n"                                                                                 \
    "bne 1b\n"                                                                                     \
    "pop {r0, r1, r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n"

/* Pairs of channels for all pixels. */
__attribute__((naked, noinline)) static void
add_pairs(__attribute__((unused)) struct block *block)
{
    __asm__(TILEWRIGHT_DSP_CHANNELS(
        "movs r2, #0\n"
        "movs r3, #0\n"
        "movs r4, #0\n"
        "movs r5, #0\n"
        "movs r6, #0\n"
        "movs r7, #0\n",
        TILEWRIGHT_DSP_PAIR,
        "stm r8!, {r2, r3, r4, r5, r6, r7}\n"
        "str r8, [r12, #8]\n"));
}

/* Pairs of pairs of channels for one pixel; r10 the weights of the second pair. */
__attribute__((naked, noinline)) static void
add_fours(__attribute__((unused)) struct block *block)
{
    __asm__(TILEWRIGHT_DSP_CHANNELS(
        "add r10, r1, r9\n"
        "movs r4, #0\n"
        "movs r5, #0\n"
        "movs r6, #0\n"
        "movs r7, #0\n",
        TILEWRIGHT_DSP_FOUR,
        "str r4, [r8], #12\n"
        "str r5, [r8], #12\n"
        "str r6, [r8], #12\n"
        "str r7, [r8], #12\n"
        "str r8, [r12, #8]\n"
        "mov r1, r10\n"));
}
/* clang-format on */

#else

/* The sums of pairs of channels for the first `pixels` pixels, whose elements are gathered. */
TILEWRIGHT_INLINE void add_sums(struct block *block, const int32_t pixels)
{
    const int8_t *w = block->weights;
    for (; block->sums != block->sums_end; block->sums += 2 * PIXELS) {
        const uint32_t *x = block->x;
        for (int32_t i = 0; i < 2 * PIXELS; i++) {
            block->sums[i] = 0;
        }
        for (int32_t n = block->quads; n > 0; n--) {
            add_word(x, tilewright_dsp_load((const uint8_t *)w), block->sums, pixels);
            add_word(x, tilewright_dsp_load((const uint8_t *)w + QUAD), block->sums + PIXELS,
                     pixels);
            x += 2 * pixels;
            w += 2 * QUAD;
        }
    }
}

static void add_pairs(struct block *block)
{
    add_sums(block, PIXELS);
}

static void add_fours(struct block *block)
{
    add_sums(block, 1);
}

#endif

/* The sums of a channel for `pixels` pixels; `step`: bytes from a quad of its weights to the next.
 */
static TILEWRIGHT_NOINLINE void add_channel(const struct block *block, const int8_t *w,
                                            int32_t step, int32_t *sums, int32_t pixels)
{
    const uint32_t *x = block->x;
    sums[0] = sums[1] = sums[2] = 0;
    for (int32_t n = block->quads; n > 0; n--) {
        add_word(x, tilewright_dsp_load((const uint8_t *)w), sums, pixels);
        x += 2 * pixels;
        w += step;
    }
}

/* The sums of `count` channels: of fours for one pixel and of pairs for all by the fast loops, then
 * of the others. */
TILEWRIGHT_INLINE void add_channels(const struct tilewright_runs_job *job, struct block *block,
                                    int32_t count)
{
    const int32_t pixels = pixels_of(job);
    const int32_t together = pixels == 1 ? count & ~(QUAD - 1) : count & ~1;
    block->sums_end = block->sums + PIXELS * together;
    if (together != 0 && pixels == 1) {
        add_fours(block);
    } else if (together != 0) {
        add_pairs(block);
    }
    block->weights += together / 2 * block->pair_size;
    for (int32_t left = count - together; left > 0; left -= 2) {
        const int32_t step = left == 1 ? QUAD : 2 * QUAD;
        for (int32_t c = 0; c < tilewright_smaller(left, 2); c++) {
            add_channel(block, block->weights + c * QUAD, step, block->sums, pixels);
            block->sums += PIXELS;
        }
        block->weights += left == 1 ? block->pair_size / 2 : block->pair_size;
    }
}

/* Copies the sums of a part, whose first channel is `first`, to where the job keeps them. */
static void keep(const struct tilewright_runs_job *job, const struct tilewright_runs_job *part,
                 int32_t first)
{
    for (int32_t p = 0; p < job->pixels; p++) {
        for (int32_t c = 0; c < part->channels; c++) {
            job->sums[p * job->channels + first + c] =
                part->sums[PIXELS * c + p] + part->rows[c * (part->row_bytes / 4)];
        }
    }
}

/* Multiplies some channels, and gives the sums to the function that finishes them. */
static TILEWRIGHT_NOINLINE void multiply(const struct tilewright_runs_job *job)
{
    int32_t sums[PIXELS * CHANNELS];
    struct tilewright_runs_job part = *job;
    struct block block = {(const uint32_t *)(const void *)job->gathered,
                          (const int8_t *)job->weights,
                          sums,
                          NULL,
                          job->taps / QUAD,
                          2 * job->taps};

    part.sums = sums;
    for (int32_t left = job->channels; left > 0; left -= CHANNELS) {
        part.channels = tilewright_smaller(left, CHANNELS);
        block.sums = sums;
        add_channels(job, &block, part.channels);
        if (job->finished == tilewright_dsp_sums) {
            keep(job, &part, job->channels - left);
        } else {
            part.finished(&part);
        }
        part.rows += part.channels * (job->row_bytes / 4);
    }
}

void tilewright_dsp_products_signed(struct tilewright_runs_job *job)
{
    if (job->offset == 0) {
        gather(job, 0);
    }
    multiply(job);
}

void tilewright_dsp_products_unsigned(struct tilewright_runs_job *job)
{
    if (job->offset == 0) {
        gather(job, 1);
    }
    multiply(job);
}

TILEWRIGHT_INLINE void store_all(struct tilewright_runs_job *job,
                                 const enum tilewright_rule_kind rule,
                                 const enum tilewright_dsp_limits known, const int32_t is_single)
{
    const int32_t words = job->row_bytes / 4, stride = job->channel_stride;
    const struct tilewright_limits limits = job->limits;
    const int32_t *restrict row = job->rows;
    const int32_t *restrict sums = job->sums;
    const int32_t *const end = sums + PIXELS * job->channels;
    uint8_t *const a = job->pixel[0], *const b = job->pixel[1], *const c = job->pixel[2];
    int32_t at = 0;
    do {
        const struct tilewright_constants constants = tilewright_constants_of(row, &limits, rule);
        const int32_t bias = rule == TILEWRIGHT_RULE_FOLDED ? 0 : *row;
        if (is_single == 0) {
            tilewright_dsp_store(b + at, sums[1] + bias, constants, &limits, rule, known);
            tilewright_dsp_store(c + at, sums[2] + bias, constants, &limits, rule, known);
        }
        tilewright_dsp_store(a + at, sums[0] + bias, constants, &limits, rule, known);
        at += stride;
        row += words;
        sums += PIXELS;
    } while (sums != end);
    job->pixel[0] = a + at;
    job->pixel[1] = b + at;
    job->pixel[2] = c + at;
}

TILEWRIGHT_INLINE void finish(struct tilewright_runs_job *job, const enum tilewright_rule_kind rule)
{
    const enum tilewright_dsp_limits known = tilewright_dsp_limits_of(&job->limits);
    if (job->pixels == 1 && known == TILEWRIGHT_DSP_SIGNED) {
        store_all(job, rule, TILEWRIGHT_DSP_SIGNED, 1);
    } else if (job->pixels == 1) {
        store_all(job, rule, TILEWRIGHT_DSP_ANY, 1);
    } else if (known == TILEWRIGHT_DSP_SIGNED) {
        store_all(job, rule, TILEWRIGHT_DSP_SIGNED, 0);
    } else if (known == TILEWRIGHT_DSP_UNSIGNED) {
        store_all(job, rule, TILEWRIGHT_DSP_UNSIGNED, 0);
    } else {
        store_all(job, rule, TILEWRIGHT_DSP_ANY, 0);
    }
}

void tilewright_dsp_folded(struct tilewright_runs_job *job)
{
    finish(job, TILEWRIGHT_RULE_FOLDED);
}

void tilewright_dsp_layer(struct tilewright_runs_job *job)
{
    finish(job, TILEWRIGHT_RULE_LAYER);
}

void tilewright_dsp_high(struct tilewright_runs_job *job)
{
    finish(job, TILEWRIGHT_RULE_HIGH);
}

void tilewright_dsp_away(struct tilewright_runs_job *job)
{
    finish(job, TILEWRIGHT_RULE_AWAY);
}

void tilewright_dsp_twice(struct tilewright_runs_job *job)
{
    finish(job, TILEWRIGHT_RULE_TWICE);
}

/* The finish for rules whose functions are in C: it does nothing, so the job keeps the sums. */
void tilewright_dsp_sums(struct tilewright_runs_job *job)
{
    (void)job;
}
