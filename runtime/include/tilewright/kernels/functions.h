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

struct tilewright_sink;
struct tilewright_limits;

/* Stores the elements of `channels` (1 to 4) channels of a block, and moves the sink's pixels
 * behind them. `rows` are the constants of these channels. */
typedef void tilewright_block_finish(struct tilewright_sink *sink, const int32_t *sums,
                                     const int32_t *rows, int32_t channels);

/* Stores the elements of `count` sums of one channel, `stride` bytes apart. `row` is the channel's
 * constants. */
typedef void tilewright_line_finish(const struct tilewright_limits *limits, const int32_t *sums,
                                    const int32_t *row, uint8_t *out, int32_t stride,
                                    int32_t count);

/* Sums of products of columns[tap][4 pixels] with weights[block][tap][4 channels], for all blocks
 * of `channels` channels. Without a finish they are left as partial results. */
typedef void tilewright_block_products(struct tilewright_sink *sink, const uint8_t *columns,
                                       int32_t taps, const uint8_t *weights, const int32_t *rows,
                                       int32_t channels, tilewright_block_finish *finish);

/* The same of one pixel, whose elements are `stride` bytes apart, with weights[block][tap][4]. */
typedef void tilewright_vector_products(struct tilewright_sink *sink, const uint8_t *vector,
                                        int32_t stride, int32_t taps, const int8_t *weights,
                                        const int32_t *rows, int32_t channels,
                                        tilewright_block_finish *finish);

struct tilewright_depthwise_integer_attributes;
struct tilewright_depthwise_plane;

/* Sums of products of one channel's window with its taps. */
typedef void tilewright_depthwise_sums(const struct tilewright_depthwise_integer_attributes *a,
                                       const struct tilewright_depthwise_plane *plane);

/* Combines `count` numbers of a with those of b, and adds the bias; the results take a's place. */
typedef void tilewright_combine(int32_t *a, const int32_t *b, int32_t bias, int32_t count);

struct tilewright_xpulpv2_job;
struct tilewright_xpulpv2_plane;

/* Finishes all blocks of channels of the job's four pixels, whole reductions only. */
typedef void tilewright_xpulpv2_block(struct tilewright_xpulpv2_job *job);

/* Goes down the columns of a plane. */
typedef void tilewright_xpulpv2_column(struct tilewright_xpulpv2_plane *plane);

#ifdef __cplusplus
}
#endif

#endif
