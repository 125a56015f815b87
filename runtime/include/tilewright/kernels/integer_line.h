/* SPDX-License-Identifier: Apache-2.0 */
/* Short lines of int32, on which elementwise integer kernels work. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_INTEGER_LINE_H
#define TILEWRIGHT_KERNELS_INTEGER_LINE_H

#include "tilewright/kernels/basics.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of a line; few, because lines are on the stack. */
#define TILEWRIGHT_LINE 16

/* Reads `count` elements, `stride` bytes apart, as int32 and subtracts their zero point.
 * `type` is that of the elements, TILEWRIGHT_INT8 to TILEWRIGHT_INT32. */
void tilewright_line_load(int32_t *to, const uint8_t *from, int32_t stride, int32_t count,
                          int32_t type, int32_t zero_point);

#ifdef __cplusplus
}
#endif

#endif
