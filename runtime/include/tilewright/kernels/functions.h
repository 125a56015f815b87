/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the functions that attributes of kernels point to. */
#ifndef TILEWRIGHT_KERNELS_FUNCTIONS_H
#define TILEWRIGHT_KERNELS_FUNCTIONS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handles `count` elements: operand j's first is at at[j], its next stride[j] bytes further.
 * The operands may be read and written through other types than uint8_t. */
typedef void tilewright_row_body(uint8_t *const *at, const int32_t *stride, int32_t count,
                                 const void *context);
typedef tilewright_row_body *tilewright_row_function;

/* Handles one line: operand j has extent[j] elements from at[j] on, stride[j] bytes apart. */
typedef void tilewright_line_body(uint8_t *const *at, const int32_t *stride, const int32_t *extent,
                                  const void *context);
typedef tilewright_line_body *tilewright_line_function;

#ifdef __cplusplus
}
#endif

#endif
