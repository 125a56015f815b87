/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of taps: what convolutions of families with wide instructions multiply. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_RUNS_H
#define TILEWRIGHT_KERNELS_RUNS_H

#include "tilewright/kernels/integer_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Taps whose elements lie side by side in x, for each of a few pixels of y. */
struct tilewright_run {
    const uint8_t *pixel[TILEWRIGHT_RUN_PIXELS];
    int32_t taps;
};

/* A block of channels for a few pixels. The assembler knows the order of the fields. */
struct tilewright_runs_job {
    const struct tilewright_run *runs;
    const struct tilewright_run *runs_end;
    const uint8_t *weights; /* of the block: [tap][channel] */
    const int32_t *rows;    /* constants of the block's first channel */
    int32_t row_bytes;
    int32_t channels;                      /* of the block */
    uint8_t *pixel[TILEWRIGHT_RUN_PIXELS]; /* where each pixel's results go; products move them */
    int32_t channel_stride;                /* bytes between the results of two channels */
    int32_t pixels;                        /* 1, or as many as a run has */
    struct tilewright_limits limits;
    int32_t *sums; /* [pixel][channel], for the rule's function in C */
    tilewright_runs_products *finished;
    int32_t biased; /* 1: a row begins with the bias */
    int32_t offset; /* of the block's first channel in pixels of x: depthwise */
    /* For families that gather taps: where to, and what tilewright_gather_pixels needs. */
    uint8_t *gathered;
    const struct tilewright_gather *gather;
    int32_t taps; /* of a channel */
};

/* Copies the taps of the job's pixels from `first` to before `end` to `out`, `step` bytes from
 * pixel to pixel, one tap behind the other, padding among them; each byte ^ flip. */
void tilewright_gather_pixels(const struct tilewright_runs_job *job, int32_t first, int32_t end,
                              uint8_t *out, int32_t step, uint8_t flip);

#ifdef __cplusplus
}
#endif

#endif
