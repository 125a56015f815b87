/* SPDX-License-Identifier: Apache-2.0 */
/* Copies over links that take whole words only, of lines that begin or end anywhere. */
#ifndef TILEWRIGHT_WORDS_H
#define TILEWRIGHT_WORDS_H

#include <stdint.h>
#include <tilewright/port.h>
#include <tilewright/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How bytes travel that are no whole words: through `buffer`, which the core addresses, of
 * `size_bytes`, aligned to `align_bytes` like all that the link takes. `back` is the link that
 * leads from the home to the tile; a store reads a word over it before a part of the word
 * changes. */
struct tilewright_words {
    uint8_t *buffer;
    uint32_t size_bytes;
    uint32_t align_bytes;
    uint32_t back;
};

/* As tilewright_fetch and tilewright_store, of rectangles at any addresses. Whole words that lie
 * alike in tile and home are copies of the link; other bytes are there, or stored, on return. The
 * words at both ends of what is stored are read and written whole. Writes the token of the last
 * copy to `token`; FAULT if one failed before the return. */
enum tilewright_port_status tilewright_fetch_words(const struct tilewright_words *words,
                                                   uint32_t link, uint8_t *tile,
                                                   const struct tilewright_shape *shape,
                                                   uint8_t *home, const int32_t *home_stride,
                                                   uint32_t rank, uint32_t element_bytes,
                                                   tilewright_token_t *token);
enum tilewright_port_status tilewright_store_words(const struct tilewright_words *words,
                                                   uint32_t link, uint8_t *tile,
                                                   const struct tilewright_shape *shape,
                                                   uint8_t *home, const int32_t *home_stride,
                                                   uint32_t rank, uint32_t element_bytes,
                                                   tilewright_token_t *token);

#ifdef __cplusplus
}
#endif

#endif
