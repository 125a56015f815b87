/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that the products and finishes of family mve share. Only for kernels. */
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

TILEWRIGHT_INLINE int32_t tilewright_mve_padded(int32_t taps)
{
    return (taps + LANES - 1) / LANES * LANES;
}

#ifdef __cplusplus
}
#endif

#endif
