/* SPDX-License-Identifier: Apache-2.0 */
/* Moving rows of elements of 1, 2, 4 or 8 bytes. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_MOVE_ROW_H
#define TILEWRIGHT_KERNELS_MOVE_ROW_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tilewright_row_function that copies elements from at[0] to at[1]. The context is an int32_t,
 * the bytes of an element. */
void tilewright_move_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                         const void *context);

#ifdef __cplusplus
}
#endif

#endif
