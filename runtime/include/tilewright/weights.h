/* SPDX-License-Identifier: Apache-2.0 */
/* Files of constants that firmware hands to a model at run time. */
#ifndef TILEWRIGHT_WEIGHTS_H
#define TILEWRIGHT_WEIGHTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes before the constants: magic 0, format 8, size of the file 12, layout 16, SHA-256 of the
 * model 24, CRC-32 of the bytes from 64 on 56, CRC-32 of the 60 bytes before this word 60. Words
 * are little-endian. */
#define TILEWRIGHT_WEIGHTS_HEADER 64u

/* Whether a file of `bytes` bytes is whole, and made for code of this layout (8 bytes) that reads
 * `size` bytes: 1 or 0. */
int tilewright_weights_fit(const void *file, uint32_t bytes, const uint8_t *layout, uint32_t size);

/* Copy numbers of a kernel's attributes from a file. */
void tilewright_weights_read(uint8_t *to, const uint8_t *from, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
