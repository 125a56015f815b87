/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/tile.h"

#include "tilewright/copy.h"

tilewright_token_t tilewright_fetch(uint32_t link, uint8_t *tile,
                                    const struct tilewright_shape *shape, uint8_t *home,
                                    const int32_t *home_stride, uint32_t rank,
                                    uint32_t element_bytes)
{
    const uint8_t *source = tilewright_at(home, home_stride, shape, rank);
    return tilewright_copy_rectangle(link, (tilewright_address_t)tile, shape->stride,
                                     (tilewright_address_t)source, home_stride, shape->extent, rank,
                                     element_bytes);
}

tilewright_token_t tilewright_fetch_ring(uint32_t link, uint8_t *tile,
                                         const struct tilewright_shape *shape, uint8_t *home,
                                         const int32_t *home_stride, uint32_t rank,
                                         uint32_t element_bytes)
{
    const int32_t axis = shape->ring_axis;
    const int32_t rows = shape->extent[axis];
    const int32_t slot = shape->origin[axis] % shape->ring_rows;
    const int32_t head = tilewright_ring_head(shape->origin[axis], rows, shape->ring_rows);
    struct tilewright_shape part = *shape;
    part.extent[axis] = head;
    const tilewright_token_t token =
        tilewright_fetch(link, tile + (ptrdiff_t)slot * shape->stride[axis], &part, home,
                         home_stride, rank, element_bytes);
    if (head == rows) {
        return token;
    }
    /* The other rows go to the ring's start; a wait for their copy also waits for the first copy.
     */
    part.extent[axis] = rows - head;
    part.origin[axis] += head;
    return tilewright_fetch(link, tile, &part, home, home_stride, rank, element_bytes);
}

tilewright_token_t tilewright_store(uint32_t link, uint8_t *tile,
                                    const struct tilewright_shape *shape, uint8_t *home,
                                    const int32_t *home_stride, uint32_t rank,
                                    uint32_t element_bytes)
{
    uint8_t *destination = tilewright_at(home, home_stride, shape, rank);
    return tilewright_copy_rectangle(link, (tilewright_address_t)destination, home_stride,
                                     (tilewright_address_t)tile, shape->stride, shape->extent, rank,
                                     element_bytes);
}
