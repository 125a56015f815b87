/* SPDX-License-Identifier: Apache-2.0 */
#include "median_filter.h"

#include "tilewright/kernels/walk.h"

enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

struct lines {
    int32_t reach;       /* elements on either side of the middle */
    int32_t first, last; /* of x's tile along the last axis; there is no more of x */
    int32_t y_first, y_count;
    int32_t x_stride, y_stride;
};

/* Insertion sort while reading: windows are short. */
static float median(const struct lines *lines, const uint8_t *x, int32_t middle)
{
    const int32_t low = middle - lines->reach > lines->first ? middle - lines->reach : lines->first;
    const int32_t high = middle + lines->reach < lines->last ? middle + lines->reach : lines->last;
    float sorted[MEDIAN_FILTER_LARGEST];
    int32_t count = 0;

    for (int32_t i = low; i <= high; i++) {
        const uint8_t *at = x + (ptrdiff_t)(i - lines->first) * lines->x_stride;
        const float value = *(const float *)(const void *)at;
        int32_t place = count++;
        for (; place > 0 && sorted[place - 1] > value; place--) {
            sorted[place] = sorted[place - 1];
        }
        sorted[place] = value;
    }
    return sorted[(count - 1) / 2];
}

static void filter_lines(uint8_t *const *at, const int32_t *stride, int32_t count,
                         const void *context)
{
    const struct lines *lines = context;
    for (int32_t row = 0; row < count; row++) {
        const uint8_t *x = at[0] + (ptrdiff_t)row * stride[0];
        uint8_t *y = at[1] + (ptrdiff_t)row * stride[1];
        for (int32_t i = 0; i < lines->y_count; i++) {
            *(float *)(void *)(y + (ptrdiff_t)i * lines->y_stride) =
                median(lines, x, lines->y_first + i);
        }
    }
}

void median_filter(const struct median_filter_attributes *attributes,
                   const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *x = operands[0].shape;
    const struct tilewright_shape *y = operands[1].shape;
    const struct lines lines = {
        attributes->size / 2, x->origin[LAST], x->origin[LAST] + x->extent[LAST] - 1,
        y->origin[LAST],      y->extent[LAST], x->stride[LAST],
        y->stride[LAST]};
    const struct tilewright_walk_operand walked[2] = {
        tilewright_walk_view(&operands[0], NULL, NULL),
        tilewright_walk_view(&operands[1], NULL, NULL)};
    int32_t extent[TILEWRIGHT_MAX_RANK];

    (void)flags;
    for (int32_t axis = 0; axis < TILEWRIGHT_MAX_RANK; axis++) {
        extent[axis] = axis == LAST ? 1 : y->extent[axis];
    }
    tilewright_walk(walked, 2, extent, filter_lines, &lines);
}
