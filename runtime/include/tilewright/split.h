/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel call shared by several cores along a dimension of its tile. */
#ifndef TILEWRIGHT_SPLIT_H
#define TILEWRIGHT_SPLIT_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An axis of an operand that follows the dimension: elements from floor((term * lower +
 * first_offset) / divisor) to floor((term * (upper - 1) + last_offset) / divisor), clipped to
 * [0, extent); lower and upper - 1 change places for a negative term. `stride_bytes` is used for
 * operands without a shape. */
struct tilewright_split_axis {
    uint16_t operand;
    uint16_t axis;
    int32_t stride_bytes;
    int32_t term;
    int32_t first_offset;
    int32_t last_offset;
    int32_t divisor;
    int32_t extent;
};

/* Core c gets elements [lower + c * chunk, lower + (c + 1) * chunk) of the dimension, and bytes
 * [c * size, (c + 1) * size) of each scratch operand, which stand behind the others. */
struct tilewright_split {
    void (*kernel)(const struct tilewright_view *operands, uint32_t flags);
    const struct tilewright_split_axis *axes;
    const uint32_t *scratch_bytes;
    uint32_t axis_count;
    uint32_t operand_count;
    uint32_t scratch_count;
    int32_t chunk;
    uint32_t cores;
    uint32_t views_bytes;
};

/* Run the kernel on a tile that covers [lower, upper) of the dimension. `views` is room for the
 * cores' views: cores * views_bytes, aligned as pointers. */
void tilewright_split_run(const struct tilewright_split *split,
                          const struct tilewright_view *operands, uint8_t *views, int32_t lower,
                          int32_t upper, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
