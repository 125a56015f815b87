/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that generated loops over tiles call: bounds, and copies between a home and a tile. */
#ifndef TILEWRIGHT_TILE_H
#define TILEWRIGHT_TILE_H

#include "tilewright/port.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The last copy of a layer, for which the next layer waits. */
struct tilewright_handover {
    uint32_t link;
    tilewright_token_t token;
};

static inline int32_t tilewright_minimum(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t tilewright_maximum(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Quotient rounded towards minus infinity; divisor > 0. */
static inline int32_t tilewright_floor(int32_t dividend, int32_t divisor)
{
    if (divisor == 1) {
        return dividend; /* the most frequent divisor; divisions are slow */
    }
    const int32_t quotient = dividend / divisor;
    return (dividend % divisor < 0) ? quotient - 1 : quotient;
}

/* Flags of tile `tile` if each `parts` consecutive tiles are the parts of one reduction. */
static inline uint32_t tilewright_part(int32_t tile, int32_t parts)
{
    const int32_t part = tile % parts;
    return (part == 0 ? TILEWRIGHT_FIRST : 0u) | (part == parts - 1 ? TILEWRIGHT_LAST : 0u);
}

/* The address of an object as the pointer type of views. Constants lose their const: no kernel
 * writes to an operand that the plan gives it to read. */
static inline uint8_t *tilewright_bytes(const void *object)
{
    return (uint8_t *)(uintptr_t)object;
}

static inline void tilewright_copy_axis(struct tilewright_shape *to,
                                        const struct tilewright_shape *from, uint32_t axis)
{
    to->stride[axis] = from->stride[axis];
    to->extent[axis] = from->extent[axis];
    to->origin[axis] = from->origin[axis];
}

/* Functions that many steps call, and that compilers would write out in each of them. */
#if defined(__GNUC__)
#define TILEWRIGHT_ONCE static __attribute__((noinline, unused))
#else
#define TILEWRIGHT_ONCE static inline
#endif

/* Copies member by member. Compilers would make calls of memmove of the loop, if reads could be
 * left out. */
TILEWRIGHT_ONCE void tilewright_copy_shape(struct tilewright_shape *to,
                                           const struct tilewright_shape *from)
{
    const volatile struct tilewright_shape *const read = from;
    for (uint32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; ++axis) {
        to->stride[axis] = read->stride[axis];
        to->extent[axis] = read->extent[axis];
        to->origin[axis] = read->origin[axis];
    }
    to->ring_axis = from->ring_axis;
    to->ring_rows = from->ring_rows;
}

/* As tilewright_copy_shape, in stores of the members of a constant `from`: to read them would take
 * long where constants lie far from the core. */
static inline void tilewright_write_shape(struct tilewright_shape *to,
                                          const struct tilewright_shape *from)
{
    tilewright_copy_axis(to, from, 0);
    tilewright_copy_axis(to, from, 1);
    tilewright_copy_axis(to, from, 2);
    tilewright_copy_axis(to, from, 3);
    tilewright_copy_axis(to, from, 4);
    tilewright_copy_axis(to, from, 5);
    to->ring_axis = from->ring_axis;
    to->ring_rows = from->ring_rows;
}

/* Address of a tile's first element in the whole array at `home`. */
static inline uint8_t *tilewright_at(uint8_t *home, const int32_t *home_stride,
                                     const struct tilewright_shape *tile, uint32_t rank)
{
    uint8_t *address = home;
    for (uint32_t axis = 0; axis < rank; ++axis) {
        address += (ptrdiff_t)tile->origin[axis] * home_stride[axis];
    }
    return address;
}

/* The address at which a whole array would begin if its part `tile` lies at `slot`. Generated code
 * cuts a smaller tile from this tile by the position in the whole array. The address may lie
 * outside of any object; it is never read or written. */
static inline uint8_t *tilewright_behind(uint8_t *slot, const int32_t *stride,
                                         const struct tilewright_shape *tile, uint32_t rank)
{
    uintptr_t address = (uintptr_t)slot;
    for (uint32_t axis = 0; axis < rank; ++axis) {
        address -= (uintptr_t)((intptr_t)tile->origin[axis] * stride[axis]);
    }
    return (uint8_t *)address;
}

/* Start to copy `lines` lines of `line_bytes`; starts no copy if either number is below 1. */
static inline tilewright_token_t
tilewright_copy_block(uint32_t link, uint8_t *destination, const uint8_t *source, int32_t lines,
                      int32_t line_bytes, int32_t destination_stride, int32_t source_stride)
{
    if (lines <= 0 || line_bytes <= 0) {
        return TILEWRIGHT_NO_COPY;
    }
    const int32_t strided = lines > 1 ? 1 : 0;
    return tilewright_copy_start(
        link, (tilewright_address_t)destination, (tilewright_address_t)source, (uint32_t)lines,
        (uint32_t)line_bytes, strided * destination_stride, strided * source_stride);
}

/* The rows, or columns, of `count` from `first` on that lie before the end of a ring of `elements`;
 * the others go on at its start. */
static inline int32_t tilewright_ring_head(int32_t first, int32_t count, int32_t elements)
{
    return tilewright_minimum(count, elements - first % elements);
}

/* Lines of a copy between a ring and the array at home. Where the ring has `elements` rows, each
 * row is `lines` lines of `bytes`; where it has `elements` columns, each of the `lines` lines has
 * `bytes` of a column. Lines, those of neighbouring rows too, are `tile_stride` bytes apart in the
 * ring and `home_stride` bytes apart at home. */
struct tilewright_ring_lines {
    int32_t elements, is_columns, lines, bytes, tile_stride, home_stride;
};

/* Start to copy `count` elements that follow each other in `ring` and at `home`. */
static inline tilewright_token_t tilewright_copy_elements(uint32_t link, int32_t inward,
                                                          uint8_t *ring, uint8_t *home,
                                                          int32_t count,
                                                          struct tilewright_ring_lines by)
{
    int32_t lines = by.is_columns != 0 ? by.lines : by.lines * count;
    int32_t bytes = by.is_columns != 0 ? by.bytes * count : by.bytes;
    if (by.tile_stride == by.bytes && by.home_stride == by.bytes) {
        /* No gaps: one line. */
        bytes *= lines;
        lines = 1;
    }
    return inward != 0 ? tilewright_copy_block(link, ring, home, lines, bytes, by.tile_stride,
                                               by.home_stride)
                       : tilewright_copy_block(link, home, ring, lines, bytes, by.home_stride,
                                               by.tile_stride);
}

/* Start to copy `count` elements from element `first` on between the ring at `ring` and the array
 * at home, where `home` is element `first`. Those behind the ring's end lie at its start: a wait
 * for their copy also waits for the first copy. */
static inline tilewright_token_t tilewright_copy_ring(uint32_t link, int32_t inward, uint8_t *ring,
                                                      uint8_t *home, int32_t first, int32_t count,
                                                      struct tilewright_ring_lines by)
{
    const int32_t slot = first % by.elements;
    const int32_t head = tilewright_ring_head(first, count, by.elements);
    const int32_t in_tile = by.is_columns != 0 ? by.bytes : by.lines * by.tile_stride;
    const int32_t at_home = by.is_columns != 0 ? by.bytes : by.lines * by.home_stride;
    const tilewright_token_t token =
        tilewright_copy_elements(link, inward, ring + (ptrdiff_t)slot * in_tile, home, head, by);
    if (head == count) {
        return token;
    }
    return tilewright_copy_elements(link, inward, ring, home + (ptrdiff_t)head * at_home,
                                    count - head, by);
}

static inline tilewright_token_t tilewright_fetch_lines(uint32_t link, uint8_t *ring, uint8_t *home,
                                                        int32_t first, int32_t count,
                                                        struct tilewright_ring_lines by)
{
    return tilewright_copy_ring(link, 1, ring, home, first, count, by);
}

static inline tilewright_token_t tilewright_store_lines(uint32_t link, uint8_t *ring, uint8_t *home,
                                                        int32_t first, int32_t count,
                                                        struct tilewright_ring_lines by)
{
    return tilewright_copy_ring(link, 0, ring, home, first, count, by);
}

/* tilewright_fetch starts to copy a rectangle of the array at `home` into the tile,
 * tilewright_store starts to copy it back. `shape` has the rectangle's extents, its origin in the
 * array, and the tile's strides; `home_stride` has the array's `rank` strides in bytes. */
tilewright_token_t tilewright_fetch(uint32_t link, uint8_t *tile,
                                    const struct tilewright_shape *shape, uint8_t *home,
                                    const int32_t *home_stride, uint32_t rank,
                                    uint32_t element_bytes);
/* As tilewright_fetch, into a ring at `tile`; `shape` has only rows that are not kept in the ring.
 */
tilewright_token_t tilewright_fetch_ring(uint32_t link, uint8_t *tile,
                                         const struct tilewright_shape *shape, uint8_t *home,
                                         const int32_t *home_stride, uint32_t rank,
                                         uint32_t element_bytes);
tilewright_token_t tilewright_store(uint32_t link, uint8_t *tile,
                                    const struct tilewright_shape *shape, uint8_t *home,
                                    const int32_t *home_stride, uint32_t rank,
                                    uint32_t element_bytes);

/* As tilewright_store, out of a ring at `tile`. */
static inline tilewright_token_t tilewright_store_ring(uint32_t link, uint8_t *tile,
                                                       const struct tilewright_shape *shape,
                                                       uint8_t *home, const int32_t *home_stride,
                                                       uint32_t rank, uint32_t element_bytes)
{
    const int32_t axis = shape->ring_axis;
    const int32_t rows = shape->extent[axis];
    const int32_t slot = shape->origin[axis] % shape->ring_rows;
    const int32_t head = tilewright_ring_head(shape->origin[axis], rows, shape->ring_rows);
    struct tilewright_shape part;
    tilewright_copy_shape(&part, shape);
    part.extent[axis] = head;
    const tilewright_token_t token =
        tilewright_store(link, tile + (ptrdiff_t)slot * shape->stride[axis], &part, home,
                         home_stride, rank, element_bytes);
    if (head == rows) {
        return token;
    }
    /* The other rows are at the ring's start; a wait for their copy also waits for the first copy.
     */
    part.extent[axis] = rows - head;
    part.origin[axis] += head;
    return tilewright_store(link, tile, &part, home, home_stride, rank, element_bytes);
}

#ifdef __cplusplus
}
#endif

#endif
