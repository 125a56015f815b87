/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of y of a depthwise convolution of 3x3 taps, and the rows of x that they need. Only for
 * kernels. */
#ifndef TILEWRIGHT_KERNELS_DEPTHWISE_ALONG_H
#define TILEWRIGHT_KERNELS_DEPTHWISE_ALONG_H

#include "tilewright/kernels/integer_core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TILEWRIGHT_ALONG_SIDE = 3, TILEWRIGHT_ALONG_ROWS = 4 };

/* A row of y: its first pixel, and the first columns of three rows of x. In place of a row of
 * padding stands any other row. */
struct tilewright_depthwise_row {
    const int8_t *x[TILEWRIGHT_ALONG_SIDE];
    uint8_t *out;
};

/* All channels of some rows of y; the channels of a pixel lie side by side in x and in y. */
struct tilewright_depthwise_walk {
    struct tilewright_depthwise_row row[TILEWRIGHT_ALONG_ROWS];
    int32_t count;   /* of rows */
    int32_t missing; /* bit i: row i of the windows is padding, for all rows of y alike */
    const int8_t *weights;
    const int32_t *constants; /* rows of the rule */
    int32_t channels;
    int32_t across, out_across; /* bytes to the next column of x and of y */
    int32_t inner;              /* bytes of the columns of y that need no padding at their right */
    int32_t no_left, no_right;  /* 1: the first or the last window has a column of padding */
    int32_t padding;            /* the element that stands for zero */
    struct tilewright_limits limits;
};

#ifdef __cplusplus
}
#endif

#endif
