/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over one channel's window that depthwise kernels of family xpulpv2 share, in assembler
 * for RV32 with Xpulpv2, in C elsewhere. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_XPULPV2_PLANE_H
#define TILEWRIGHT_KERNELS_XPULPV2_PLANE_H

#include "tilewright/kernels/integer_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of one channel of y from a window. The assembler knows the order of the fields. */
struct tilewright_xpulpv2_plane {
    const uint8_t *bytes;  /* the first column's first tap; moves on */
    int32_t pitch;         /* from row to row of the kernel */
    int32_t down, across;  /* from output to output */
    const int8_t *weights; /* [3][4] */
    int32_t bias, multiplier, addend, shift;
    uint8_t *out; /* moves on */
    int32_t out_down, out_across;
    int32_t rows, columns; /* 1 at least; columns are counted down to 0 */
    int32_t minimum, maximum;
};

/* For int8 and for uint8 windows. Sums are words; the others finish by their rule. */
tilewright_xpulpv2_column tilewright_xpulpv2_plane_sums_signed,
    tilewright_xpulpv2_plane_sums_unsigned;

#ifdef __cplusplus
}
#endif

#endif
