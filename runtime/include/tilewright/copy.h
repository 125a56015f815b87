/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of rectangles of arrays over a link, by the 2-D copies of the port. */
#ifndef TILEWRIGHT_COPY_H
#define TILEWRIGHT_COPY_H

#include <stdint.h>
#include <tilewright/port.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Axes that a rectangle may have. */
#define TILEWRIGHT_COPY_MAX_RANK 8u

/* Start to copy a rectangle of `rank` axes (at most TILEWRIGHT_COPY_MAX_RANK). Strides are bytes;
 * `destination` and `source` are the addresses of the rectangle's first element.
 *
 * Axes of one element are dropped, and axes that follow each other in both arrays are joined. The
 * innermost axis becomes a line if it is contiguous in both arrays; the longest of the other axes
 * becomes the lines of one command. For example, 4 x 25 x 320 packed bytes in both arrays are one
 * command of one line.
 *
 * A wait for the returned token waits for the whole rectangle. Returns TILEWRIGHT_NO_COPY for an
 * empty rectangle. */
tilewright_token_t tilewright_copy_rectangle(uint32_t link, tilewright_address_t destination,
                                             const int32_t *destination_strides,
                                             tilewright_address_t source,
                                             const int32_t *source_strides, const int32_t *extents,
                                             uint32_t rank, uint32_t element_bytes);

#ifdef __cplusplus
}
#endif

#endif
