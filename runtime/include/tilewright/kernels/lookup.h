/* SPDX-License-Identifier: Apache-2.0 */
/* y = table[x], x being the index from the smallest value of its type.
 * Operands: x, table (256 elements), y. */
#ifndef TILEWRIGHT_KERNELS_LOOKUP_H
#define TILEWRIGHT_KERNELS_LOOKUP_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_lookup_attributes {
    int32_t flip; /* 128: x is int8; 0: uint8 */
};
#define tilewright_lookup_bytes_attributes tilewright_lookup_attributes
#define tilewright_lookup_words_attributes tilewright_lookup_attributes

/* For elements of y of one byte and of four. */
void tilewright_lookup_bytes(const struct tilewright_lookup_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags);
void tilewright_lookup_words(const struct tilewright_lookup_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
