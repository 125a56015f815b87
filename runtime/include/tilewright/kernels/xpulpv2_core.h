/* SPDX-License-Identifier: Apache-2.0 */
/* The core that kernels of family xpulpv2 share: four pixels by four channels, four products per
 * instruction. For RV32 with Xpulpv2 the core is in assembler, which writes these instructions as
 * encodings, so that any RISC-V compiler can be used; elsewhere it is in C. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_XPULPV2_CORE_H
#define TILEWRIGHT_KERNELS_XPULPV2_CORE_H

#include "tilewright/kernels/integer_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A run: consecutive words of each of four pixels. `step` is the distance in bytes to the runs of
 * the next four pixels. */
struct tilewright_xpulpv2_run {
    const uint8_t *pixel[TILEWRIGHT_BLOCK];
    uintptr_t step;
};

/* How cores that finish sums clamp results: by two instructions (BOTH), or by one instruction if
 * channels lie side by side and the limits are [-maximum - 1, maximum] (AROUND_ZERO) or
 * [0, maximum] (ABOVE_ZERO). */
enum tilewright_xpulpv2_clip {
    TILEWRIGHT_XPULPV2_CLIP_ABOVE_ZERO = -1,
    TILEWRIGHT_XPULPV2_CLIP_BOTH = 0,
    TILEWRIGHT_XPULPV2_CLIP_AROUND_ZERO = 1
};

/* Blocks of four channels for four pixels, or for several times four, one after the other. Weights
 * are [block][word of all runs][4 channels][4 bytes]. The assembler knows the order of the fields.
 */
struct tilewright_xpulpv2_job {
    struct tilewright_xpulpv2_run *runs;
    struct tilewright_xpulpv2_run *runs_end;
    int32_t run_words;       /* words of each run, at least 1 */
    const uint8_t *weights;  /* weights of the next block */
    const int32_t *rows;     /* constants of the next block; for cores that finish */
    const int32_t *rows_end; /* end of the constants; whole blocks, at least one */
    struct tilewright_xpulpv2_run *next_run; /* the second run; NULL if there is only one */
    /* For cores that finish sums: the number of pixels / 4 left to compute, and the bytes from
     * behind the last channel of a pixel to the first channel of the pixel four further. */
    int32_t fours;
    int32_t pixel_step;
    const uint8_t *first_weights;
    const int32_t *first_rows;
    int32_t clip; /* enum tilewright_xpulpv2_clip */
    /* Cores that finish sums store results at sink.pixel and move it on. Other cores add to
     * sink.sums, which are [channel][pixel]. */
    struct tilewright_sink sink;
    /* For C. */
    void (*finished)(struct tilewright_xpulpv2_job *job); /* NULL: sums go to the rule's finish */
    void (*add)(struct tilewright_xpulpv2_job *job);
    struct tilewright_rule rule; /* without a finish: sums are partial results */
    int32_t channels;
};

/* Loads a word from any address; cores with Xpulpv2 load and store unaligned words in hardware. */
TILEWRIGHT_INLINE uint32_t tilewright_xpulpv2_word(const uint8_t *from)
{
#if defined(__riscv) && __riscv_xlen == 32
    uint32_t word;
    __asm__("lw %0, %1" : "=r"(word) : "m"(*(const tilewright_word *)(const void *)from));
    return word;
#else
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
#endif
}

TILEWRIGHT_INLINE void tilewright_xpulpv2_put(uint8_t *to, uint32_t word)
{
#if defined(__riscv) && __riscv_xlen == 32
    __asm__("sw %1, %0" : "=m"(*(tilewright_word *)(void *)to) : "r"(word));
#else
    to[0] = (uint8_t)word;
    to[1] = (uint8_t)(word >> 8);
    to[2] = (uint8_t)(word >> 16);
    to[3] = (uint8_t)(word >> 24);
#endif
}

/* Add the products of one block to its sums, for int8 and for uint8 pixels. */
tilewright_xpulpv2_block tilewright_xpulpv2_sums_signed, tilewright_xpulpv2_sums_unsigned;

/* Sets how whole reductions are finished. The rule's row_words and biased are computed here, not
 * read from tilewright_rule_<rule>: constants may lie in memory far from the core. */
TILEWRIGHT_INLINE void tilewright_xpulpv2_finish_by(struct tilewright_xpulpv2_job *job,
                                                    tilewright_block_finish *finish,
                                                    tilewright_xpulpv2_block *finished,
                                                    int32_t row_words)
{
    job->rule.finish = finish;
    job->rule.row_words = row_words;
    job->rule.biased = finish != tilewright_block_folded; /* as in tilewright_rule_folded */
    job->finished = finished;
}

/* Sets the fields of the job that are the same for all pixels. Before the call, the job's sink is
 * open and has its limits, and its rule and `finished` are set (tilewright_xpulpv2_finish_by). The
 * caller sets runs_end and run_words. */
void tilewright_xpulpv2_open(struct tilewright_xpulpv2_job *job,
                             struct tilewright_xpulpv2_run *table, int32_t is_unsigned,
                             uint32_t flags);

/* Sets the channels that the next calls of the core compute; pixels of y are `y_stride` bytes
 * apart.
 */
void tilewright_xpulpv2_channels(struct tilewright_xpulpv2_job *job, const uint8_t *weights,
                                 const int32_t *rows, int32_t channels, int32_t y_stride);

/* Whether the core finishes all channels of the job itself, so that `fours` may be more than 1. */
TILEWRIGHT_INLINE int tilewright_xpulpv2_finishes(const struct tilewright_xpulpv2_job *job)
{
    return job->finished != NULL && job->channels % TILEWRIGHT_BLOCK == 0;
}

/* Computes all channels of `fours` times four pixels. The table of runs has the inputs of the first
 * four pixels, the sink the addresses of their results. */
void tilewright_xpulpv2_core(struct tilewright_xpulpv2_job *job, int32_t fours);

#ifdef __cplusplus
}
#endif

#endif
