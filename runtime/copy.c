/* SPDX-License-Identifier: Apache-2.0 */
/* python/tilewright/plan/copies.py counts the commands that this file starts; change both together.
 */
#include <tilewright/copy.h>

#include <stddef.h>

struct axis {
    int32_t extent;
    int32_t destination_stride;
    int32_t source_stride;
};

static uint32_t magnitude(int32_t value)
{
    return value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
}

static int is_outside(const struct axis *a, const struct axis *b)
{
    uint32_t a_destination = magnitude(a->destination_stride);
    uint32_t b_destination = magnitude(b->destination_stride);
    if (a_destination != b_destination) {
        return a_destination > b_destination;
    }
    return magnitude(a->source_stride) > magnitude(b->source_stride);
}

/* Write the axes of more than one element to `axes`, from the largest stride in the destination to
 * the smallest. Returns their number, or -1 if the rectangle is empty. */
static int32_t sorted_axes(struct axis *axes, const int32_t *destination_strides,
                           const int32_t *source_strides, const int32_t *extents, uint32_t rank)
{
    int32_t count = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (extents[i] <= 0) {
            return -1;
        }
        if (extents[i] == 1) {
            continue;
        }
        struct axis axis = {extents[i], destination_strides[i], source_strides[i]};
        int32_t at = count;
        while (at > 0 && is_outside(&axis, &axes[at - 1])) {
            axes[at] = axes[at - 1];
            at--;
        }
        axes[at] = axis;
        count++;
    }
    return count;
}

/* Join neighbouring axes that lie without gaps in both arrays; returns the number of axes left. */
static int32_t joined_axes(struct axis *axes, int32_t count)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        struct axis inner = axes[i];
        if (kept > 0) {
            struct axis outer = axes[kept - 1];
            if (outer.destination_stride == inner.destination_stride * inner.extent &&
                outer.source_stride == inner.source_stride * inner.extent) {
                inner.extent *= outer.extent;
                kept--;
            }
        }
        axes[kept] = inner;
        kept++;
    }
    return kept;
}

/* Take the axis with most elements out of `axes` (of equal axes the innermost); the others keep
 * their order. */
static struct axis take_longest(struct axis *axes, int32_t *count)
{
    struct axis longest = {1, 0, 0};
    int32_t at = *count;
    for (int32_t i = 0; i < *count; i++) {
        if (axes[i].extent >= longest.extent) {
            longest = axes[i];
            at = i;
        }
    }
    for (int32_t i = at; i + 1 < *count; i++) {
        axes[i] = axes[i + 1];
    }
    *count -= at < *count ? 1 : 0;
    return longest;
}

static tilewright_address_t moved(tilewright_address_t address, int32_t bytes)
{
    return address + (tilewright_address_t)(ptrdiff_t)bytes;
}

tilewright_token_t tilewright_copy_rectangle(uint32_t link, tilewright_address_t destination,
                                             const int32_t *destination_strides,
                                             tilewright_address_t source,
                                             const int32_t *source_strides, const int32_t *extents,
                                             uint32_t rank, uint32_t element_bytes)
{
    struct axis axes[TILEWRIGHT_COPY_MAX_RANK];
    int32_t position[TILEWRIGHT_COPY_MAX_RANK] = {0};
    int32_t count = sorted_axes(axes, destination_strides, source_strides, extents, rank);
    if (count < 0) {
        return TILEWRIGHT_NO_COPY;
    }
    count = joined_axes(axes, count);
    uint32_t line_bytes = element_bytes;
    if (count > 0 && axes[count - 1].destination_stride == (int32_t)element_bytes &&
        axes[count - 1].source_stride == (int32_t)element_bytes) {
        count--;
        line_bytes *= (uint32_t)axes[count].extent;
    }
    struct axis lines = take_longest(axes, &count);
    tilewright_token_t token;
    int32_t i;
    do {
        token = tilewright_copy_start(link, destination, source, (uint32_t)lines.extent, line_bytes,
                                      lines.destination_stride, lines.source_stride);
        for (i = count - 1; i >= 0; i--) {
            destination = moved(destination, axes[i].destination_stride);
            source = moved(source, axes[i].source_stride);
            position[i]++;
            if (position[i] < axes[i].extent) {
                break;
            }
            destination = moved(destination, -axes[i].extent * axes[i].destination_stride);
            source = moved(source, -axes[i].extent * axes[i].source_stride);
            position[i] = 0;
        }
    } while (i >= 0);
    return token;
}
