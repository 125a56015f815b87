/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/map_rows.h"

/* The nearest integer, ties to even, clipped to the type's range. */
static int32_t quantized(float quotient, int32_t zero_point, int32_t low, int32_t high)
{
    const float rounded = rintf(quotient);
    if (!(rounded > (float)(low - zero_point))) {
        return low;
    }
    return rounded < (float)(high - zero_point) ? (int32_t)rounded + zero_point : high;
}

TILEWRIGHT_MAP_3(quantize_i8, int8_t, float, float, int8_t, quantized(a / b, c, -128, 127))
TILEWRIGHT_MAP_3(quantize_u8, uint8_t, float, float, uint8_t, quantized(a / b, c, 0, 255))
