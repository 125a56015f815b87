/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/walk.h"

struct lines {
    const struct tilewright_line_attributes *attributes;
    int32_t stride[TILEWRIGHT_WALK_OPERANDS];
    int32_t extent[TILEWRIGHT_WALK_OPERANDS];
};

static void run_lines(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct lines *lines = context;
    uint8_t *line[TILEWRIGHT_WALK_OPERANDS];
    for (int32_t i = 0; i < count; i++) {
        for (int32_t j = 0; j < lines->attributes->operands; j++) {
            line[j] = at[j] + (ptrdiff_t)i * stride[j];
        }
        lines->attributes->line(line, lines->stride, lines->extent, lines->attributes);
    }
}

void tilewright_line(const struct tilewright_line_attributes *attributes,
                     const struct tilewright_view *operands, uint32_t flags)
{
    const int32_t count = attributes->operands;
    const int32_t axis = attributes->axis;
    struct tilewright_walk_operand walked[TILEWRIGHT_WALK_OPERANDS];
    struct lines lines = {attributes, {0}, {0}};
    int32_t extent[TILEWRIGHT_MAX_RANK];

    (void)flags;
    for (int32_t i = 0; i < count; i++) {
        tilewright_walk_set(&walked[i], &operands[i], NULL, NULL);
        lines.stride[i] = operands[i].shape->stride[axis];
        lines.extent[i] = operands[i].shape->extent[axis];
    }
    for (int32_t i = 0; i < TILEWRIGHT_MAX_RANK; i++) {
        extent[i] = i == axis ? 1 : operands[count - 1].shape->extent[i];
    }
    tilewright_walk(walked, count, extent, run_lines, &lines);
}
