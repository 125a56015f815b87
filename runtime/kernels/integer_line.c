/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/integer_line.h"

#include "tilewright/kernels/declarations.h"

void tilewright_line_load(int32_t *restrict to, const uint8_t *restrict from, int32_t stride,
                          int32_t count, int32_t type, int32_t zero_point)
{
    const int32_t *const end = to + count;
    if (type == TILEWRIGHT_INT8) {
        while (to != end) {
            *to++ = *(const int8_t *)from - zero_point;
            from += stride;
        }
    } else if (type == TILEWRIGHT_UINT8) {
        while (to != end) {
            *to++ = *from - zero_point;
            from += stride;
        }
    } else if (type == TILEWRIGHT_INT16) {
        while (to != end) {
            *to++ = *(const int16_t *)(const void *)from - zero_point;
            from += stride;
        }
    } else if (type == TILEWRIGHT_UINT16) {
        while (to != end) {
            *to++ = *(const uint16_t *)(const void *)from - zero_point;
            from += stride;
        }
    } else {
        while (to != end) {
            *to++ = *(const int32_t *)(const void *)from - zero_point;
            from += stride;
        }
    }
}
