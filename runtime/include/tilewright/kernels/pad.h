/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_PAD_H
#define TILEWRIGHT_KERNELS_PAD_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_pad_attributes {
    /* 1, 2, 4 or 8. */
    int32_t element_bytes;
    /* Elements in front of the input. */
    int32_t pads[TILEWRIGHT_MAX_RANK];
    /* The padding's bits: bits 0 to 31 and, for 8 bytes, 32 to 63. */
    uint32_t value[2];
};

/* The input with a constant around it. Operands: x, y, both with six axes. */
void tilewright_pad(const struct tilewright_pad_attributes *attributes,
                    const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
