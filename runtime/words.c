/* SPDX-License-Identifier: Apache-2.0 */
#include <tilewright/words.h>

#include <stdbool.h>
#include <tilewright/copy.h>
#include <tilewright/copy_lines.h>
#include <tilewright/tile.h>

/* One copy of a rectangle: the buffer for words, the direction, and the token of the last copy that
 * was started. */
struct transfer {
    const struct tilewright_words *words;
    uint32_t link;
    bool inward;
    tilewright_token_t token;
};

static uint32_t behind_word(const struct transfer *transfer, const uint8_t *at)
{
    return (uint32_t)((uintptr_t)at % transfer->words->align_bytes);
}

/* Copy `bytes`, whole words, from `source` to `destination` over a link, and wait. */
static bool moved(uint32_t link, uint8_t *destination, const uint8_t *source, uint32_t bytes)
{
    const tilewright_token_t token = tilewright_copy_start(
        link, (tilewright_address_t)destination, (tilewright_address_t)source, 1u, bytes, 0, 0);
    return tilewright_copy_wait(link, token) == TILEWRIGHT_PORT_OK;
}

/* Bring the first and the last of the words at `home` that a store changes in part. */
static bool brought(const struct transfer *transfer, const uint8_t *home, uint32_t before,
                    uint32_t bytes, uint32_t whole)
{
    const struct tilewright_words *words = transfer->words;
    const uint32_t last = whole - words->align_bytes;
    if (before != 0u && !moved(words->back, words->buffer, home, words->align_bytes)) {
        return false;
    }
    if (before + bytes == whole || (before != 0u && last == 0u)) {
        return true;
    }
    return moved(words->back, words->buffer + last, home + last, words->align_bytes);
}

/* One copy of the code for both directions. */
static __attribute__((noinline)) void copy_bytes(uint8_t *destination, const uint8_t *source,
                                                 uint32_t bytes)
{
    tilewright_copy_line(destination, source, bytes);
}

/* Copy `bytes` of a line through the buffer, as many words at a time as it holds. */
static bool through_buffer(const struct transfer *transfer, uint8_t *tile, uint8_t *home,
                           uint32_t bytes)
{
    const struct tilewright_words *words = transfer->words;
    while (bytes != 0u) {
        const uint32_t before = behind_word(transfer, home);
        const uint32_t room = words->size_bytes - before;
        const uint32_t part = bytes < room ? bytes : room;
        const uint32_t end = before + part + words->align_bytes - 1u;
        const uint32_t whole = end - end % words->align_bytes;
        uint8_t *first = home - before;
        if (transfer->inward) {
            if (!moved(transfer->link, words->buffer, first, whole)) {
                return false;
            }
            copy_bytes(tile, words->buffer + before, part);
        } else {
            if (!brought(transfer, first, before, part, whole)) {
                return false;
            }
            copy_bytes(words->buffer + before, tile, part);
            if (!moved(transfer->link, first, words->buffer, whole)) {
                return false;
            }
        }
        tile += part;
        home += part;
        bytes -= part;
    }
    return true;
}

/* Copy a line: the words within it by the link, if both addresses have one remainder modulo a word.
 */
static bool copy_line(struct transfer *transfer, uint8_t *tile, uint8_t *home, uint32_t bytes)
{
    const uint32_t align = transfer->words->align_bytes;
    const uint32_t before = behind_word(transfer, home);
    const uint32_t head = before == 0u ? 0u : align - before;
    if (behind_word(transfer, tile) != before || bytes < head + align) {
        return through_buffer(transfer, tile, home, bytes);
    }
    const uint32_t body = (bytes - head) / align * align;
    if (!through_buffer(transfer, tile, home, head) ||
        !through_buffer(transfer, tile + head + body, home + head + body, bytes - head - body)) {
        return false;
    }
    uint8_t *destination = transfer->inward ? tile : home;
    const uint8_t *source = transfer->inward ? home : tile;
    transfer->token =
        tilewright_copy_start(transfer->link, (tilewright_address_t)destination + head,
                              (tilewright_address_t)source + head, 1u, body, 0, 0);
    return true;
}

/* The bytes of a line, and in `in_line` the axes of which it consists. */
static uint32_t line_of(const struct tilewright_shape *shape, const int32_t *home_stride,
                        uint32_t rank, uint32_t element_bytes, bool *in_line)
{
    uint32_t bytes = element_bytes;
    for (uint32_t found = 0; found < rank; found++) {
        uint32_t axis = 0;
        while (axis < rank && (in_line[axis] || shape->stride[axis] != (int32_t)bytes ||
                               home_stride[axis] != (int32_t)bytes || shape->extent[axis] == 1)) {
            axis++;
        }
        if (axis == rank) {
            break;
        }
        in_line[axis] = true;
        bytes *= (uint32_t)shape->extent[axis];
    }
    return bytes;
}

static bool is_aligned(const struct transfer *transfer, const struct tilewright_shape *shape,
                       const int32_t *home_stride, uint32_t rank, const bool *in_line)
{
    const int32_t align = (int32_t)transfer->words->align_bytes;
    for (uint32_t axis = 0; axis < rank; axis++) {
        if (!in_line[axis] && shape->extent[axis] > 1 &&
            (shape->stride[axis] % align != 0 || home_stride[axis] % align != 0)) {
            return false;
        }
    }
    return true;
}

static bool copy_lines(struct transfer *transfer, uint8_t *tile,
                       const struct tilewright_shape *shape, uint8_t *home,
                       const int32_t *home_stride, uint32_t rank, uint32_t line_bytes,
                       const bool *in_line)
{
    int32_t position[TILEWRIGHT_MAX_RANK] = {0};
    uint32_t axis;
    do {
        ptrdiff_t in_tile = 0;
        ptrdiff_t at_home = 0;
        for (axis = 0; axis < rank; axis++) {
            in_tile += (ptrdiff_t)position[axis] * shape->stride[axis];
            at_home += (ptrdiff_t)position[axis] * home_stride[axis];
        }
        if (!copy_line(transfer, tile + in_tile, home + at_home, line_bytes)) {
            return false;
        }
        for (axis = rank; axis > 0u; axis--) {
            if (in_line[axis - 1u]) {
                continue;
            }
            position[axis - 1u]++;
            if (position[axis - 1u] < shape->extent[axis - 1u]) {
                break;
            }
            position[axis - 1u] = 0;
        }
    } while (axis > 0u);
    return true;
}

static enum tilewright_port_status copied(struct transfer *transfer, uint8_t *tile,
                                          const struct tilewright_shape *shape, uint8_t *home,
                                          const int32_t *home_stride, uint32_t rank,
                                          uint32_t element_bytes)
{
    bool in_line[TILEWRIGHT_MAX_RANK] = {false};
    for (uint32_t axis = 0; axis < rank; axis++) {
        if (shape->extent[axis] <= 0) {
            return TILEWRIGHT_PORT_OK;
        }
    }
    const uint32_t bytes = line_of(shape, home_stride, rank, element_bytes, in_line);
    if (behind_word(transfer, tile) == 0u && behind_word(transfer, home) == 0u &&
        bytes % transfer->words->align_bytes == 0u &&
        is_aligned(transfer, shape, home_stride, rank, in_line)) {
        const tilewright_address_t near = (tilewright_address_t)tile;
        const tilewright_address_t far = (tilewright_address_t)home;
        transfer->token =
            transfer->inward
                ? tilewright_copy_rectangle(transfer->link, near, shape->stride, far, home_stride,
                                            shape->extent, rank, element_bytes)
                : tilewright_copy_rectangle(transfer->link, far, home_stride, near, shape->stride,
                                            shape->extent, rank, element_bytes);
        return TILEWRIGHT_PORT_OK;
    }
    return copy_lines(transfer, tile, shape, home, home_stride, rank, bytes, in_line)
               ? TILEWRIGHT_PORT_OK
               : TILEWRIGHT_PORT_FAULT;
}

enum tilewright_port_status tilewright_fetch_words(const struct tilewright_words *words,
                                                   uint32_t link, uint8_t *tile,
                                                   const struct tilewright_shape *shape,
                                                   uint8_t *home, const int32_t *home_stride,
                                                   uint32_t rank, uint32_t element_bytes,
                                                   tilewright_token_t *token)
{
    struct transfer transfer = {words, link, true, TILEWRIGHT_NO_COPY};
    const enum tilewright_port_status status =
        copied(&transfer, tile, shape, tilewright_at(home, home_stride, shape, rank), home_stride,
               rank, element_bytes);
    *token = transfer.token;
    return status;
}

enum tilewright_port_status tilewright_store_words(const struct tilewright_words *words,
                                                   uint32_t link, uint8_t *tile,
                                                   const struct tilewright_shape *shape,
                                                   uint8_t *home, const int32_t *home_stride,
                                                   uint32_t rank, uint32_t element_bytes,
                                                   tilewright_token_t *token)
{
    struct transfer transfer = {words, link, false, TILEWRIGHT_NO_COPY};
    const enum tilewright_port_status status =
        copied(&transfer, tile, shape, tilewright_at(home, home_stride, shape, rank), home_stride,
               rank, element_bytes);
    *token = transfer.token;
    return status;
}
