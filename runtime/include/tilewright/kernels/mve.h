/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and instructions that the products and finishes of family mve share. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_MVE_H
#define TILEWRIGHT_KERNELS_MVE_H

#include "tilewright/kernels/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PIXELS = TILEWRIGHT_RUN_PIXELS };
enum { LANES = 16 };    /* bytes of a vector */
enum { CHANNELS = 32 }; /* channels whose sums are on the stack at a time; even */
enum { TOGETHER = 4 };  /* channels of a pixel that are finished together */

/* clang-format off */
/* 16 taps of three pixels times those of two channels, in assembler. r1, r3 and r5 are the taps of the pixels, r7 and
 * r9 the weights of the channels; the sums are in r0 and r2, r4 and r6, r8 and r10. `multiply`: the instruction. */
#define TILEWRIGHT_MVE_STEP(multiply)                                                              \
    "vldrb.8 q0, [r1], #16\n"                                                                      \
    "vldrb.8 q3, [r7], #16\n"                                                                      \
    "vldrb.8 q1, [r3], #16\n"                                                                      \
    multiply " r0, q0, q3\n"                                                                       \
    "vldrb.8 q2, [r5], #16\n"                                                                      \
    multiply " r4, q1, q3\n"                                                                       \
    multiply " r8, q2, q3\n"                                                                       \
    "vldrb.8 q3, [r9], #16\n"                                                                      \
    multiply " r2, q0, q3\n"                                                                       \
    multiply " r6, q1, q3\n"                                                                       \
    multiply " r10, q2, q3\n"
/* clang-format on */

TILEWRIGHT_INLINE int32_t tilewright_mve_padded(int32_t taps)
{
    return (taps + LANES - 1) / LANES * LANES;
}

#ifdef __cplusplus
}
#endif

#endif
