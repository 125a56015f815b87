/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/walk.h"

void tilewright_map(const struct tilewright_map_attributes *attributes,
                    const struct tilewright_view *operands, uint32_t flags)
{
    struct tilewright_walk_operand walked[TILEWRIGHT_WALK_OPERANDS];
    const int32_t count = attributes->operands;

    (void)flags;
    for (int32_t i = 0; i < count; i++) {
        tilewright_walk_set(&walked[i], &operands[i], NULL, NULL);
    }
    tilewright_walk(walked, count, operands[count - 1].shape->extent, attributes->row, attributes);
}
