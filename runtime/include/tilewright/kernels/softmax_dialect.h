/* SPDX-License-Identifier: Apache-2.0 */
/* iSoftmax, ITAMax and ITAPartialMax over the last axis of the view: 8-bit integers to unsigned
 * probabilities. Operands: x; for iSoftmax the table of powers, uint32[256]; y, uint8. */
#ifndef TILEWRIGHT_KERNELS_SOFTMAX_DIALECT_H
#define TILEWRIGHT_KERNELS_SOFTMAX_DIALECT_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_softmax_dialect_attributes {
    int32_t flip; /* 128: x is int8; 0: uint8 */
    int32_t
        levels;    /* iSoftmax and ITAMax: the largest probability; ITAPartialMax: the half of it */
    int32_t group; /* ITAPartialMax: elements whose maximum is taken at once */
};
#define tilewright_softmax_table_attributes tilewright_softmax_dialect_attributes
#define tilewright_ita_max_attributes tilewright_softmax_dialect_attributes
#define tilewright_ita_partial_max_attributes tilewright_softmax_dialect_attributes

/* y = e * levels / sum of e, with e = table[max - x]. */
void tilewright_softmax_table(const struct tilewright_softmax_dialect_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags);

/* y = (256 * levels / sum of 256 >> s) >> s, with s = (max - x + 16) >> 5. */
void tilewright_ita_max(const struct tilewright_softmax_dialect_attributes *attributes,
                        const struct tilewright_view *operands, uint32_t flags);

/* As ita_max, but a group with a new maximum shifts the sum of the groups before it. */
void tilewright_ita_partial_max(const struct tilewright_softmax_dialect_attributes *attributes,
                                const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
