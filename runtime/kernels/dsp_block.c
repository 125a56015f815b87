/* SPDX-License-Identifier: Apache-2.0 */
/* Products of family dsp: two taps per instruction, of 16-bit elements that are gathered once for
 * all channels. Without these instructions the same in plain C. */
#include "tilewright/kernels/dsp.h"
#include "tilewright/kernels/integer_rules.h"
#include "tilewright/kernels/runs.h"

enum { QUAD = 4 }; /* taps whose elements stand together: of each pixel taps 0 and 2, 1 and 3 */
enum { PIXELS = 2 };
enum { CHANNELS = 32 }; /* channels whose sums are on the stack at a time; a multiple of 4 */
enum { QUAD_WORDS = PIXELS * QUAD / 2 };

TILEWRIGHT_INLINE uint32_t extended(uint32_t bytes, const int32_t is_unsigned)
{
    return is_unsigned != 0 ? bytes & 0x00ff00ffu : tilewright_dsp_even(bytes);
}

/* Gathers the taps of the job's pixels, zeros behind the last tap. */
TILEWRIGHT_INLINE void gather(const struct tilewright_runs_job *job, const int32_t is_unsigned)
{
    const int32_t quads = job->taps / QUAD;
    uint8_t *const bytes = job->gathered + 4 * QUAD_WORDS * quads;

    /* Taps are padded to whole quads, with weights of zero. */
    tilewright_store_word(bytes + QUAD * (quads - 1), 0);
    /* Channels that are no four are multiplied for both pixels. */
    const int32_t is_single = job->pixels == 1 && job->channels % QUAD == 0;
    for (int32_t p = 0; p < (is_single != 0 ? 1 : PIXELS); p++) {
        uint32_t *restrict out = (uint32_t *)(void *)job->gathered + 2 * p;
        const uint8_t *from = bytes;
        tilewright_gather_pixels(job, p, p + 1, bytes, 0, 0);
        for (int32_t n = quads; n > 0; n--) {
            const uint32_t word = tilewright_load_word(from);
            out[0] = extended(word, is_unsigned);
            out[1] = is_unsigned != 0 ? extended(word >> 8, 1) : tilewright_dsp_odd(word);
            out += QUAD_WORDS;
            from += QUAD;
        }
    }
}

TILEWRIGHT_INLINE void add_word(const uint32_t *x, uint32_t weights, int32_t *sums,
                                const int32_t pixels)
{
    const uint32_t even = tilewright_dsp_even(weights), odd = tilewright_dsp_odd(weights);
    for (int32_t p = 0; p < pixels; p++) {
        sums[p] = tilewright_dsp_dual(x[2 * p], even, sums[p]);
        sums[p] = tilewright_dsp_dual(x[2 * p + 1], odd, sums[p]);
    }
}

/* What the loops over channels read. The assembler knows the order of the fields. */
struct block {
    const uint32_t *x;
    const int8_t *weights;
    int32_t *sums; /* [channel][pixel] */
    const int32_t *sums_end;
    int32_t quads;
    int32_t pair_size; /* bytes of weights of a pair of channels */
};

#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

_Static_assert(sizeof(struct block) == 24, "the assembler knows where the fields are");

/* clang-format off */
/* Registers: r0 the elements, r1 the weights, r2 the quads left, r3 where the next sums go, r4 to r7
 * sums, r8 to r11 elements of a quad; the block's address is on the stack. */

/* Weights of a channel for two pixels, whose sums are s0 and s1. */
#define TILEWRIGHT_DSP_TWO(s0, s1)                                                                 \
    "ldr r12, [r1], #4\n"                                                                          \
    "sxtb16 lr, r12\n"                                                                             \
    "smlad " s0 ", r8, lr, " s0 "\n"                                                               \
    "smlad " s1 ", r10, lr, " s1 "\n"                                                              \
    "sxtb16 r12, r12, ror #8\n"                                                                    \
    "smlad " s0 ", r9, r12, " s0 "\n"                                                              \
    "smlad " s1 ", r11, r12, " s1 "\n"
#define TILEWRIGHT_DSP_PAIR                                                                        \
    "ldmia r0!, {r8, r9, r10, r11}\n"                                                              \
    TILEWRIGHT_DSP_TWO("r4", "r5") TILEWRIGHT_DSP_TWO("r6", "r7")

/* Weights of a channel for one pixel. */
#define TILEWRIGHT_DSP_ONE(sum, weights)                                                           \
    "ldr r12, [" weights "], #4\n"                                                                 \
    "sxtb16 lr, r12\n"                                                                             \
    "smlad " sum ", r8, lr, " sum "\n"                                                             \
    "sxtb16 r12, r12, ror #8\n"                                                                    \
    "smlad " sum ", r9, r12, " sum "\n"
#define TILEWRIGHT_DSP_FOUR                                                                        \
    "ldrd r8, r9, [r0], #16\n"                                                                     \
    TILEWRIGHT_DSP_ONE("r4", "r1") TILEWRIGHT_DSP_ONE("r5", "r1")                                  \
    TILEWRIGHT_DSP_ONE("r6", "r10") TILEWRIGHT_DSP_ONE("r7", "r10")

/* All channels of a block: `step` for each quad, two quads in a round of the loop. */
#define TILEWRIGHT_DSP_CHANNELS(begin, step, end)                                                  \
    "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                                            \
    "ldrd r1, r3, [r0, #4]\n"                                                                      \
    "1:\n"                                                                                         \
    "ldr r12, [sp]\n"                                                                              \
    "ldr r0, [r12]\n"                                                                              \
    "ldr r2, [r12, #16]\n"                                                                         \
    begin                                                                                          \
    "movs r4, #0\n"                                                                                \
    "movs r5, #0\n"                                                                                \
    "movs r6, #0\n"                                                                                \
    "movs r7, #0\n"                                                                                \
    "lsrs r2, r2, #1\n"                                                                            \
    "bcc 2f\n"                                                                                     \
    step                                                                                           \
    "2:\n"                                                                                         \
    "cmp r2, #0\n"                                                                                 \
    "beq 4f\n"                                                                                     \
    "3:\n"                                                                                         \
    step step                                                                                      \
    "subs r2, r2, #1\n"                                                                            \
    "bne 3b\n"                                                                                     \
    "4:\n"                                                                                         \
    end                                                                                            \
    "ldr r12, [sp]\n"                                                                              \
    "ldr lr, [r12, #12]\n"                                                                         \
    "cmp r3, lr\n"                                                                                 \
    "bne 1b\n"                                                                                     \
    "pop {r0, r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

/* Pairs of channels for both pixels. */
__attribute__((naked, noinline)) static void
add_pairs(__attribute__((unused)) const struct block *block)
{
    __asm__(TILEWRIGHT_DSP_CHANNELS("", TILEWRIGHT_DSP_PAIR, "stmia r3!, {r4, r5, r6, r7}\n"));
}

/* Pairs of pairs of channels for the first pixel; r10 the weights of the second pair. */
__attribute__((naked, noinline)) static void
add_fours(__attribute__((unused)) const struct block *block)
{
    __asm__(TILEWRIGHT_DSP_CHANNELS(
        "ldr lr, [r12, #20]\n"
        "add r10, r1, lr\n",
        TILEWRIGHT_DSP_FOUR,
        "str r4, [r3], #8\n"
        "str r5, [r3], #8\n"
        "str r6, [r3], #8\n"
        "str r7, [r3], #8\n"
        "mov r1, r10\n"));
}
/* clang-format on */

#else

/* The sums of pairs of channels for the first `pixels` of two pixels; the others are 0. */
static void add_sums(const struct block *block, int32_t pixels)
{
    const int8_t *w = block->weights;
    for (int32_t *sums = block->sums; sums != block->sums_end; sums += 2 * PIXELS) {
        const uint32_t *x = block->x;
        for (int32_t i = 0; i < 2 * PIXELS; i++) {
            sums[i] = 0;
        }
        for (int32_t n = block->quads; n > 0; n--) {
            add_word(x, tilewright_dsp_load((const uint8_t *)w), sums, pixels);
            add_word(x, tilewright_dsp_load((const uint8_t *)w + QUAD), sums + PIXELS, pixels);
            x += QUAD_WORDS;
            w += 2 * QUAD;
        }
    }
}

static void add_pairs(const struct block *block)
{
    add_sums(block, PIXELS);
}

static void add_fours(const struct block *block)
{
    add_sums(block, 1);
}

#endif

/* The sums of the last channel of an odd number, which has no channel to pair with. */
static TILEWRIGHT_NOINLINE void add_last(const struct block *block)
{
    const uint32_t *x = block->x;
    const int8_t *w = block->weights;
    int32_t *const sums = block->sums;
    sums[0] = sums[1] = 0;
    for (int32_t n = block->quads; n > 0; n--) {
        add_word(x, tilewright_dsp_load((const uint8_t *)w), sums, PIXELS);
        x += QUAD_WORDS;
        w += QUAD;
    }
}

/* The sums of `count` channels, by the fastest loop for what is left of them. */
TILEWRIGHT_INLINE void add_channels(const struct tilewright_runs_job *job, struct block *block,
                                    int32_t count)
{
    while (count > 0) {
        const int32_t is_single = job->pixels == 1 && count >= QUAD;
        const int32_t together = is_single != 0 ? count & ~(QUAD - 1) : count & ~1;
        if (together == 0) {
            add_last(block);
            return;
        }
        block->sums_end = block->sums + PIXELS * together;
        if (is_single != 0) {
            add_fours(block);
        } else {
            add_pairs(block);
        }
        block->weights += together / 2 * block->pair_size;
        block->sums += PIXELS * together;
        count -= together;
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

/* Finishes and stores a sum; `saturates`: the limits are those of int8. */
TILEWRIGHT_INLINE void store(uint8_t *at, int32_t sum, struct tilewright_constants constants,
                             const struct tilewright_limits *limits,
                             const enum tilewright_rule_kind rule, const int32_t saturates)
{
    if (saturates == 0) {
        tilewright_store_sum(at, sum, constants, limits, rule);
        return;
    }
    int32_t value;
    if (rule == TILEWRIGHT_RULE_FOLDED) {
        value =
            (int32_t)((uint32_t)sum * (uint32_t)constants.multiplier + (uint32_t)constants.addend);
    } else {
        value = tilewright_dsp_upper(sum, constants.multiplier, constants.addend);
    }
    value >>= constants.shift;
    *at = (uint8_t)tilewright_dsp_saturated(value);
}

TILEWRIGHT_INLINE void store_all(struct tilewright_runs_job *job,
                                 const enum tilewright_rule_kind rule, const int32_t saturates,
                                 const int32_t is_single)
{
    const int32_t words = job->row_bytes / 4, stride = job->channel_stride;
    const struct tilewright_limits limits = job->limits;
    const int32_t *restrict row = job->rows;
    const int32_t *restrict sums = job->sums;
    const int32_t *const end = sums + PIXELS * job->channels;
    uint8_t *a = job->pixel[0];
    uint8_t *b = job->pixel[1];
    do {
        const struct tilewright_constants constants = tilewright_constants_of(row, &limits, rule);
        const int32_t bias = rule == TILEWRIGHT_RULE_FOLDED ? 0 : *row;
        if (is_single == 0) {
            store(b, sums[1] + bias, constants, &limits, rule, saturates);
            b += stride;
        }
        store(a, sums[0] + bias, constants, &limits, rule, saturates);
        a += stride;
        row += words;
        sums += PIXELS;
    } while (sums != end);
    job->pixel[0] = a;
    job->pixel[1] = b;
}

TILEWRIGHT_INLINE void finish(struct tilewright_runs_job *job, const enum tilewright_rule_kind rule)
{
    const int saturates = job->limits.minimum == INT8_MIN && job->limits.maximum == INT8_MAX;
    if (job->pixels == 1 && saturates) {
        store_all(job, rule, 1, 1);
    } else if (job->pixels == 1) {
        store_all(job, rule, 0, 1);
    } else if (saturates) {
        store_all(job, rule, 1, 0);
    } else {
        store_all(job, rule, 0, 0);
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

/* The finish for rules whose functions are in C: it does nothing, so the job keeps the sums. */
void tilewright_dsp_sums(struct tilewright_runs_job *job)
{
    (void)job;
}
