/* SPDX-License-Identifier: Apache-2.0 */
/* Access to quantized integers of 8 to 32 bits, and walks with their scales. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_QUANTIZE_MATH_H
#define TILEWRIGHT_KERNELS_QUANTIZE_MATH_H

#include "tilewright/interface.h"
#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/float_math.h"
#include "tilewright/kernels/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

TILEWRIGHT_INLINE int32_t tilewright_load_integer(const uint8_t *at, int32_t element)
{
    switch (element) {
    case TILEWRIGHT_INT8:
        return *(const int8_t *)at;
    case TILEWRIGHT_UINT8:
        return *at;
    case TILEWRIGHT_INT16:
        return *(const int16_t *)(const void *)at;
    case TILEWRIGHT_UINT16:
        return *(const uint16_t *)(const void *)at;
    default:
        return *(const int32_t *)(const void *)at;
    }
}

/* Stores the low 8 or 16 bits of the value, for signed and unsigned elements alike. */
TILEWRIGHT_INLINE void tilewright_store_integer(uint8_t *at, int32_t element_bytes, int32_t value)
{
    if (element_bytes == 1) {
        *at = (uint8_t)value;
    } else {
        *(uint16_t *)(void *)at = (uint16_t)value;
    }
}

/* The walk's operand for a packed constant with one element of 4 bytes for each index of `axis`. */
TILEWRIGHT_INLINE struct tilewright_walk_operand
tilewright_walk_parameters(const struct tilewright_view *constant, int32_t axis)
{
    struct tilewright_walk_operand operand = {constant->base, {0}, NULL, 0};
    operand.stride[axis] = 4;
    return operand;
}

/* Calls `row` for the rows of x, scale, zero point and y; each index of `axis` has its own scale
 * and zero point. */
TILEWRIGHT_INLINE void tilewright_walk_scaled(const struct tilewright_view *operands, int32_t axis,
                                              tilewright_row_function row, const void *context)
{
    struct tilewright_walk_operand walked[4];
    tilewright_walk_set(&walked[0], &operands[0], NULL, NULL);
    walked[1] = tilewright_walk_parameters(&operands[1], axis);
    walked[2] = tilewright_walk_parameters(&operands[2], axis);
    tilewright_walk_set(&walked[3], &operands[3], NULL, NULL);
    tilewright_walk(walked, 4, operands[3].shape->extent, row, context);
}

#ifdef __cplusplus
}
#endif

#endif
