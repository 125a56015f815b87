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

/* The buffer through which bytes travel that are no whole words. The core addresses it; it has
 * `size_bytes` and is aligned to `align_bytes`, as the link asks of all addresses. `back` is the
 * link from the home to the tile: over it a store reads a word before it changes a part of it. */
struct tilewright_words {
    uint8_t *buffer;
    uint32_t size_bytes;
    uint32_t align_bytes;
    uint32_t back;
};

/* As tilewright_fetch and tilewright_store, for rectangles at any addresses. The link copies words
 * that are whole in tile and home; all other bytes have been copied on return. A store reads and
 * writes the words at both ends of a line whole. Writes the token of the link's last copy to
 * `token`; FAULT if a copy failed before the return. */
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
