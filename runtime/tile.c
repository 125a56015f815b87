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
