/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the functions to which the attributes of kernels point. */
#ifndef TILEWRIGHT_KERNELS_FUNCTIONS_H
#define TILEWRIGHT_KERNELS_FUNCTIONS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handles `count` elements: element i of operand j is at at[j] + i * stride[j] (bytes).
 * The function may read and write operands as other types than uint8_t. */
typedef void tilewright_row_body(uint8_t *const *at, const int32_t *stride, int32_t count,
                                 const void *context);
typedef tilewright_row_body *tilewright_row_function;

/* Handles one line: operand j has extent[j] elements, element i of them at at[j] + i * stride[j].
 */
typedef void tilewright_line_body(uint8_t *const *at, const int32_t *stride, const int32_t *extent,
                                  const void *context);
typedef tilewright_line_body *tilewright_line_function;

struct tilewright_sink;
struct tilewright_limits;

/* Turns the sums of `channels` (1 to 4, of single pixels 1 to 8) channels of a block into elements,
 * stores them, and moves the sink's pixels behind them. `rows` are the constants of these channels.
 */
typedef void tilewright_block_finish(struct tilewright_sink *sink, const int32_t *sums,
                                     const int32_t *rows, int32_t channels);

/* Turns `count` sums of one channel into elements and stores them, `stride` bytes apart. `row` are
 * the constants of the channel. */
typedef void tilewright_line_finish(const struct tilewright_limits *limits, const int32_t *sums,
                                    const int32_t *row, uint8_t *out, int32_t stride,
                                    int32_t count);

/* Adds the products of columns[tap][4 pixels] and weights[block][tap][4 channels], for all blocks
 * of `channels` channels. If `finish` is NULL, the sums stay in memory as partial results. */
typedef void tilewright_block_products(struct tilewright_sink *sink, const uint8_t *columns,
                                       int32_t taps, const uint8_t *weights, const int32_t *rows,
                                       int32_t channels, tilewright_block_finish *finish);

struct tilewright_packed;

/* Adds the products of the job's words and of all its channels, and stores the elements. */
typedef void tilewright_packed_products(const struct tilewright_packed *job);

/* Packs `count` elements of two pixels as words a + b * 2^16, each as far behind the one before as
 * a tap has words; returns the address of the word behind them. */
typedef uint32_t *tilewright_pack(uint32_t *out, const uint8_t *a, const uint8_t *b, int32_t count);

/* As tilewright_block_products, for one pixel, whose elements are `stride` bytes apart. */
typedef void tilewright_vector_products(struct tilewright_sink *sink, const uint8_t *vector,
                                        int32_t stride, int32_t taps, const int8_t *weights,
                                        const int32_t *rows, int32_t channels,
                                        tilewright_block_finish *finish);

/* Multiplies a vector, whose elements are `stride` bytes apart, by up to eight channels. `weights`
 * are words of four weights, each with 128 added, as [tap][2]; `run` are lengths of runs of taps,
 * with a zero behind them. Stores elements, or the sums in the sink's block. Returns the address
 * behind these weights. */
typedef const uint32_t *tilewright_packed_block(struct tilewright_sink *sink, const uint8_t *x,
                                                int32_t stride, const uint32_t *weights,
                                                const uint8_t *run, const int32_t *rows,
                                                int32_t channels);

struct tilewright_depthwise_integer_attributes;
struct tilewright_depthwise_plane;

/* Computes the sums of one channel: the products of its window and its weights. */
typedef void tilewright_depthwise_sums(const struct tilewright_depthwise_integer_attributes *a,
                                       const struct tilewright_depthwise_plane *plane);

struct tilewright_depthwise_walk;

/* Computes and stores all channels of the walk's rows of y. */
typedef void tilewright_depthwise_rows_along(const struct tilewright_depthwise_walk *walk);

struct tilewright_depthwise_lines;

/* Computes and stores lines of one channel. */
typedef void tilewright_depthwise_compute(struct tilewright_depthwise_lines *lines);

struct tilewright_byte_taps;

/* Stores the largest elements of a window in the first of `channels` channels, which lie side by
 * side in `to` as well, and returns their number. */
typedef int32_t tilewright_largest_bytes(const struct tilewright_byte_taps *taps, int32_t channels,
                                         uint8_t *to);

/* Combines `count` numbers of a with those of b, and adds the bias; the results take a's place. */
typedef void tilewright_combine(int32_t *a, const int32_t *b, int32_t bias, int32_t count);

struct tilewright_xpulpv2_job;
struct tilewright_xpulpv2_plane;

/* Computes and stores all blocks of channels of the job's pixels; for whole reductions only. */
typedef void tilewright_xpulpv2_block(struct tilewright_xpulpv2_job *job);

/* Computes the columns of a plane, each from the top down. */
typedef void tilewright_xpulpv2_column(struct tilewright_xpulpv2_plane *plane);

struct tilewright_runs_job;

/* Computes a block of channels for a few pixels: multiplies the job's runs and finishes the sums,
 * or finishes sums that the job has already. */
typedef void tilewright_runs_products(struct tilewright_runs_job *job);

#ifdef __cplusplus
}
#endif

#endif
