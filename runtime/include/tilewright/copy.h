/* SPDX-License-Identifier: Apache-2.0 */
/* Rectangles of arrays over a link, as the 2-D copies that a port knows. */
#ifndef TILEWRIGHT_COPY_H
#define TILEWRIGHT_COPY_H

#include <stdint.h>
#include <tilewright/port.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Axes that a rectangle may have. */
#define TILEWRIGHT_COPY_MAX_RANK 8u

/* Start to copy a rectangle of `rank` axes; strides are bytes, addresses those of its first
 * element. Axes of one element are dropped and axes that follow each other in both arrays are
 * joined; what is contiguous in both becomes a line, the longest remaining axis the lines of one
 * command. Waiting for the returned token waits for the whole rectangle; it is
 * TILEWRIGHT_NO_COPY if the rectangle is empty. `rank` is at most TILEWRIGHT_COPY_MAX_RANK. */
tilewright_token_t tilewright_copy_rectangle(uint32_t link, tilewright_address_t destination,
                                             const int32_t *destination_strides,
                                             tilewright_address_t source,
                                             const int32_t *source_strides, const int32_t *extents,
                                             uint32_t rank, uint32_t element_bytes);

#ifdef __cplusplus
}
#endif

#endif
