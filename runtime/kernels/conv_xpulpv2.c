/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/xpulpv2_fill.h"
#include "tilewright/kernels/xpulpv2_taps.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH, PARTIAL };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

static int32_t whole_words(int32_t bytes)
{
    return (bytes + 3) & ~3;
}

/* Joins all rows of a 1x1 convolution into one row if they follow each other in memory. */
static void flatten(struct tilewright_xpulpv2_taps *taps, const struct tilewright_shape *in,
                    const struct tilewright_shape *out)
{
    const int32_t rows = out->extent[HEIGHT];
    const int is_pointwise = taps->kernel[0] == 1 && taps->kernel[1] == 1 &&
                             taps->strides[0] == 1 && taps->strides[1] == 1;
    if (rows <= 1 || !is_pointwise) {
        return;
    }
    const int is_same = taps->x_rows == rows && taps->x_columns == taps->y_columns &&
                        taps->first_column == 0 && taps->first_row == 0;
    const int is_packed = in->stride[HEIGHT] == taps->x_columns * taps->x_stride &&
                          out->stride[HEIGHT] == taps->y_columns * taps->y_stride;
    const int is_ring = in->ring_rows != 0 || out->ring_rows != 0;
    if (is_same && is_packed && !is_ring) {
        taps->x_columns *= rows;
        taps->y_columns *= rows;
        taps->y_last_row = out->origin[HEIGHT];
    }
}

/* `y_row`: the first row of y. */
static void find_way(struct tilewright_xpulpv2_taps *taps, int32_t is_planar, int32_t is_direct,
                     int32_t y_row)
{
    const int32_t columns = taps->kernel[1];
    taps->most = 1;
    if (is_planar != 0) {
        taps->way = TILEWRIGHT_XPULPV2_PLANAR;
        taps->run_bytes = whole_words(columns);
        taps->slot_bytes =
            whole_words((taps->kernel[0] * taps->inputs - 1) * columns + taps->run_bytes);
        const int32_t four_bytes = TILEWRIGHT_BLOCK * taps->slot_bytes;
        const int32_t rows = (taps->y_last_row - y_row) * taps->strides[0] +
                             (taps->kernel[0] - 1) * taps->dilations[0] + 1;
        taps->x_stride = whole_words((taps->y_columns - 1) * taps->strides[1] + taps->run_bytes);
        taps->x_channel_stride = rows * taps->x_stride;
        while (taps->most < 4 && (taps->most + 1) * four_bytes <= TILEWRIGHT_XPULPV2_PLANES_BYTES) {
            taps->most++;
        }
        return;
    }
    taps->way = TILEWRIGHT_XPULPV2_COPIED;
    taps->run_bytes = columns * taps->inputs;
    taps->slot_bytes = whole_words(taps->kernel[0] * taps->run_bytes);
    if (is_direct != 0) {
        const int is_dense =
            columns == 1 || (taps->x_stride == taps->inputs && taps->dilations[1] == 1);
        taps->way = is_dense ? TILEWRIGHT_XPULPV2_DENSE : TILEWRIGHT_XPULPV2_DIRECT;
    }
}

/* Lays out the scratch behind the struct: table of runs, rows of x, padding or planes, copies of
 * taps. */
static void lay_out(struct tilewright_xpulpv2_taps *taps, int32_t padding)
{
    const int is_direct = taps->way >= TILEWRIGHT_XPULPV2_DIRECT;
    const int32_t runs = is_direct ? taps->kernel[0] * taps->kernel[1] : 1;
    taps->x_rows_at = (const uint8_t **)(void *)(tilewright_xpulpv2_runs(taps) + runs);
    taps->padding_row = (uint8_t *)(void *)(taps->x_rows_at + taps->kernel[0]);
    taps->has_padding = padding >= 0 ? 1u : 0u;
    uint8_t *const slots = tilewright_xpulpv2_slots(taps);
    tilewright_xpulpv2_fill(taps->padding_row, slots, (uint8_t)padding * 0x01010101u);
    const int32_t pixels = taps->most * TILEWRIGHT_BLOCK;
    /* The bytes that fill a copied pixel up to a word meet weights of zero; they are written once,
     * so that no uninitialised byte is read. */
    for (int32_t i = 1; !is_direct && i <= pixels; i++) {
        tilewright_store_word(slots + i * taps->slot_bytes - 4, 0);
    }
}

static TILEWRIGHT_NOINLINE void prepare(struct tilewright_xpulpv2_taps *taps,
                                        const struct tilewright_conv_xpulpv2_attributes *a,
                                        const struct tilewright_view *operands)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    taps->x = &operands[X];
    for (int32_t i = 0; i < 2; i++) {
        taps->kernel[i] = (int16_t)a->kernel[i];
        taps->strides[i] = (int16_t)a->strides[i];
        taps->dilations[i] = (int16_t)a->dilations[i];
    }
    taps->x_row = in->origin[HEIGHT];
    taps->x_rows = in->extent[HEIGHT];
    taps->x_columns = in->extent[WIDTH];
    taps->x_stride = in->stride[WIDTH];
    taps->x_channel_stride = in->stride[CHANNEL];
    taps->y_columns = out->extent[WIDTH];
    taps->y_last_row = out->origin[HEIGHT] + out->extent[HEIGHT] - 1;
    taps->y_stride = out->stride[WIDTH];
    taps->first_row = -a->pads[0];
    taps->first_column = out->origin[WIDTH] * taps->strides[1] - a->pads[1] - in->origin[WIDTH];
    /* A tile of x has whole groups, or some channels of the only group. */
    taps->inputs = tilewright_smaller(in->extent[CHANNEL], a->group_inputs);
    find_way(taps, a->is_planar, a->is_direct, out->origin[HEIGHT]);
    lay_out(taps, a->padding);
    flatten(taps, in, out);
}

void tilewright_conv_xpulpv2(const struct tilewright_conv_xpulpv2_attributes *a,
                             const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_view *y = &operands[Y];
    const struct tilewright_shape *out = y->shape;
    struct tilewright_xpulpv2_taps *const taps =
        (struct tilewright_xpulpv2_taps *)(void *)operands[SCRATCH].base;
    struct tilewright_xpulpv2_job job;

    tilewright_xpulpv2_finish_by(&job, a->finish, a->finished, a->row_words);
    prepare(taps, a, operands);
    /* A tile has some groups with all their channels, or some channels of one group. */
    const int32_t held = out->extent[CHANNEL];
    const int32_t channels = tilewright_smaller(held, a->group_outputs);
    const int32_t padded = whole_words(channels);
    const int32_t count = out->extent[HEIGHT] * out->extent[WIDTH];
    tilewright_open(&job.sink, &job.rule, out->stride[CHANNEL], TILEWRIGHT_BLOCK,
                    &operands[PARTIAL], flags);
    job.sink.limits = TILEWRIGHT_LIMITS(a);
    tilewright_xpulpv2_open(&job, tilewright_xpulpv2_runs(taps), a->is_unsigned, flags);
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        const uint8_t *weights = operands[WEIGHTS].base;
        const int32_t *rows = (const int32_t *)(const void *)operands[ROWS].base;
        struct tilewright_xpulpv2_place place = {0, 0, NULL, (ptrdiff_t)n * in->stride[BATCH],
                                                 (ptrdiff_t)n * out->stride[BATCH]};

        for (int32_t done = 0; done < held; done += channels) {
            if (a->is_planar != 0) {
                tilewright_xpulpv2_planes(taps, y, &place);
            }
            place.row = out->origin[HEIGHT] - 1;
            tilewright_xpulpv2_next_row(taps, y, &place);
            tilewright_xpulpv2_channels(&job, weights, rows, channels, taps->y_stride);
            const int32_t most = tilewright_xpulpv2_finishes(&job) ? count : 1;
            for (int32_t pixel = 0; pixel < count;) {
                int32_t fours = 1;
                if (a->is_planar != 0) {
                    fours = tilewright_xpulpv2_advance_planes(taps, y, most, &place, &job);
                } else if (a->is_direct != 0) {
                    fours = tilewright_xpulpv2_advance(taps, y, most, &place, &job);
                } else {
                    tilewright_xpulpv2_advance_copied(taps, y, &place, &job);
                }
                tilewright_xpulpv2_core(&job, fours);
                pixel += fours * TILEWRIGHT_BLOCK;
            }
            if (done + channels < held) {
                weights += (ptrdiff_t)padded * taps->slot_bytes;
                rows += (ptrdiff_t)padded * job.sink.row_words;
                place.offset_in += (ptrdiff_t)taps->inputs * in->stride[CHANNEL];
                place.offset_out += (ptrdiff_t)channels * out->stride[CHANNEL];
            }
        }
    }
}
