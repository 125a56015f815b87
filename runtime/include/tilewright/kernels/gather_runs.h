/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a call of a convolution by runs, from which taps are copied. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_GATHER_RUNS_H
#define TILEWRIGHT_KERNELS_GATHER_RUNS_H

#include "tilewright/kernels/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TILEWRIGHT_GATHERED_MOST = 16 }; /* taps of a row whose elements are gathered */

/* The part of a call's state that is the same for all pixels. */
struct tilewright_runs_conv {
    const struct tilewright_conv_runs_attributes *attributes;
    const struct tilewright_view *x;
    struct tilewright_run *runs;
    const uint8_t *padding; /* a pixel of padding, its channels side by side */
    int32_t inputs;         /* channels of x that a window covers */
    int32_t row_taps;       /* taps of a row of the kernel that lie side by side; 0: they do not */
    int32_t inside;         /* columns of x at which a row of the kernel may begin */
    int32_t is_gathered; /* 1: a row's elements, which lie apart, are at `places` from the first */
    int32_t ring;        /* rows of x's ring; 0: none */
    uint32_t held;       /* rows of x; 0: pixels cannot be copied row by row */
    int32_t reach;       /* rows from the first of the kernel to the last; below 0: backward */
    int32_t count;       /* bytes of a row of the kernel */
    uint16_t places[TILEWRIGHT_GATHERED_MOST];
};

/* Positions in x of the first tap of the pixels: rows of the whole tensor, and columns counted from
 * the tile's first column. */
struct tilewright_runs_pixels {
    int32_t row[TILEWRIGHT_RUN_PIXELS];
    int32_t column[TILEWRIGHT_RUN_PIXELS];
};

/* The pixels of a job, for families that gather their taps. */
struct tilewright_gather {
    const struct tilewright_runs_conv *conv;
    const struct tilewright_runs_pixels *pixels;
    ptrdiff_t offset; /* bytes to the pixels' image and group in x */
};

/* Prepares the copies of a call: what all pixels have in common, and the offsets of a row's taps
 * where these lie apart, but are few and near each other. */
void tilewright_prepare_gather(struct tilewright_runs_conv *conv);

#ifdef __cplusplus
}
#endif

#endif
