/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over one channel's window that depthwise kernels of family xpulpv2 share, in assembler
 * for RV32 with Xpulpv2, in C elsewhere. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_XPULPV2_PLANE_H
#define TILEWRIGHT_KERNELS_XPULPV2_PLANE_H

#include "tilewright/kernels/integer_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of one channel of y, computed from a window. The assembler depends on the order of the
 * fields. Distances are bytes. Windows of three rows keep two of them where an output's window
 * begins one row below that of the output before (down == pitch). */
struct tilewright_xpulpv2_plane {
    const uint8_t *bytes;  /* the first tap of the next column */
    int32_t pitch;         /* from a row of the window to the next */
    int32_t down, across;  /* from the first tap of an output to that of its neighbour */
    const int8_t *weights; /* [3][4], [5][8] or [7][8] */
    int32_t bias;          /* 0 for the functions `folded` */
    int32_t multiplier, addend;
    int32_t shift; /* in bits 0 to 4; of the functions `even`, a row's last word */
    uint8_t *out;  /* the first output of the next column */
    int32_t out_down, out_across;
    int32_t rows, columns; /* 1 at least; columns are counted down to 0 */
    int32_t minimum, maximum;
    /* Pairs of neighbouring columns before `columns`, which then may be 0; counted down to 0. Their
     * taps lie in the same words: across is 1, down is pitch and the fourth weights are zero. */
    int32_t pairs;
};

/* The bias and the products of the window whose first tap is at `x`. */
TILEWRIGHT_INLINE int32_t tilewright_xpulpv2_sum(const struct tilewright_xpulpv2_plane *plane,
                                                 const uint8_t *x, int32_t is_unsigned,
                                                 int32_t kernel_rows)
{
    const int32_t bytes = kernel_rows == 3 ? 4 : 8;
    const int8_t *weights = plane->weights;
    int32_t sum = plane->bias;
    for (int32_t kh = 0; kh < kernel_rows; kh++) {
        for (int32_t kw = 0; kw < bytes; kw++) {
            sum += *weights++ * (is_unsigned != 0 ? x[kw] : (int8_t)x[kw]);
        }
        x += plane->pitch;
    }
    return sum;
}

/* Copies rows of `pixels` pixels (at least four) of four channels. Those of a pixel lie side by
 * side, pixels are `stride` bytes apart, rows `row_stride` bytes. Each channel becomes rows of
 * bytes that are `pitch` apart; channels are `apart` bytes apart. */
void tilewright_xpulpv2_spread(uint8_t *to, const uint8_t *from, int32_t stride, int32_t apart,
                               int32_t pixels, int32_t rows, int32_t pitch, int32_t row_stride);

#ifdef __cplusplus
}
#endif

#endif
