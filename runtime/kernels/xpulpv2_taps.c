/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_taps.h"

_Static_assert(sizeof(struct tilewright_xpulpv2_taps) <= TILEWRIGHT_XPULPV2_TAPS_BYTES,
               "the kernels' declarations know how much scratch this takes");

enum { HEIGHT = 2 };
enum { WORD = 4 };

/* Sets the runs of pixel i of four: one run for each tap, in x or in the padding. */
static TILEWRIGHT_NOINLINE void point(const struct tilewright_xpulpv2_taps *taps, int32_t i,
                                      int32_t column)
{
    struct tilewright_xpulpv2_run *run = tilewright_xpulpv2_runs(taps);
    for (int32_t kh = 0; kh < taps->kernel[0]; kh++) {
        const uint8_t *row = taps->x_rows_at[kh];
        int32_t at = column;
        for (int32_t kw = taps->kernel[1]; kw > 0; kw--) {
            const int is_inside = row != NULL && (uint32_t)at < (uint32_t)taps->x_columns;
            run->pixel[i] = is_inside ? row + (ptrdiff_t)at * taps->x_stride : taps->padding_row;
            at += taps->dilations[1];
            run++;
        }
    }
}

/* Sets the runs of four pixels of one row, of which some taps are padding: one run for each tap. */
static TILEWRIGHT_NOINLINE void point_apart(const struct tilewright_xpulpv2_taps *taps,
                                            int32_t column)
{
    struct tilewright_xpulpv2_run *run = tilewright_xpulpv2_runs(taps);
    const uint8_t *const padding_row = taps->padding_row;
    const uint8_t **row = taps->x_rows_at;
    const uint32_t columns = (uint32_t)taps->x_columns;
    const int32_t across = taps->strides[1];
    const int32_t stride = taps->x_stride;
    const int32_t step = across * stride;
    const int32_t further = taps->dilations[1];

    for (int32_t kh = taps->kernel[0]; kh > 0; kh--) {
        const uint8_t *const from = *row++;
        uint32_t first = (uint32_t)column;
        for (int32_t kw = taps->kernel[1]; kw > 0; kw--) {
            const uint32_t held = from == NULL ? 0u : columns;
            ptrdiff_t offset = (int32_t)first * stride;
            uint32_t at = first;
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
                run->pixel[i] = at < held ? from + offset : padding_row;
                at += (uint32_t)across;
                offset += step;
            }
            first += (uint32_t)further;
            run++;
        }
    }
}

/* Sets the runs of four pixels of one row whose taps all lie in x. */
static void point_four(const struct tilewright_xpulpv2_taps *taps, int32_t column)
{
    const ptrdiff_t offset = (ptrdiff_t)column * taps->x_stride;
    const int32_t across = taps->strides[1] * taps->x_stride;
    struct tilewright_xpulpv2_run *run = tilewright_xpulpv2_runs(taps);
    const uint8_t **row = taps->x_rows_at;
    for (int32_t kh = taps->kernel[0]; kh > 0; kh--) {
        const int is_inside = *row != NULL;
        const uint8_t *at = is_inside ? *row + offset : taps->padding_row;
        const int32_t step = is_inside ? across : 0;
        run->pixel[0] = at;
        run->pixel[1] = at += step;
        run->pixel[2] = at += step;
        run->pixel[3] = at + step;
        run->step = (uintptr_t)(TILEWRIGHT_BLOCK * step);
        run++;
        row++;
    }
}

/* Finds the row of x for each row of the kernel, for the current row of y; NULL beyond x. */
static TILEWRIGHT_NOINLINE void find_rows(const struct tilewright_xpulpv2_taps *taps,
                                          const struct tilewright_xpulpv2_place *place)
{
    int32_t from = place->row * taps->strides[0] + taps->first_row;
    for (int32_t kh = 0; kh < taps->kernel[0]; kh++) {
        const int is_inside = (uint32_t)(from - taps->x_row) < (uint32_t)taps->x_rows;
        taps->x_rows_at[kh] =
            is_inside ? tilewright_row(taps->x, HEIGHT, from) + place->offset_in : NULL;
        from += taps->dilations[0];
    }
}

void tilewright_xpulpv2_next_row(const struct tilewright_xpulpv2_taps *taps,
                                 const struct tilewright_view *y,
                                 struct tilewright_xpulpv2_place *place)
{
    place->row++;
    place->column = 0;
    place->at = tilewright_row(y, HEIGHT, place->row) + place->offset_out;
    if (taps->way != TILEWRIGHT_XPULPV2_PLANAR) {
        find_rows(taps, place);
    }
}

/* Sets the number of runs and their words: a run is a row of the kernel or a tap. */
static void set_runs(const struct tilewright_xpulpv2_taps *taps, struct tilewright_xpulpv2_job *job,
                     int is_rows)
{
    const int32_t runs = is_rows ? taps->kernel[0] : taps->kernel[0] * taps->kernel[1];
    job->runs_end = job->runs + runs;
    job->run_words = (is_rows ? taps->run_bytes : taps->inputs) / WORD;
}

void tilewright_xpulpv2_next_pixel(const struct tilewright_xpulpv2_taps *taps,
                                   const struct tilewright_view *y,
                                   struct tilewright_xpulpv2_place *place)
{
    if (place->column + 1 < taps->y_columns) {
        place->column++;
        place->at += taps->y_stride;
    } else if (place->row < taps->y_last_row) {
        tilewright_xpulpv2_next_row(taps, y, place);
    }
}

/* Sets runs and results of four pixels one by one, because the row ends. */
static TILEWRIGHT_NOINLINE void advance_one_by_one(const struct tilewright_xpulpv2_taps *taps,
                                                   const struct tilewright_view *y,
                                                   struct tilewright_xpulpv2_place *place,
                                                   struct tilewright_xpulpv2_job *job)
{
    set_runs(taps, job, 0);
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        point(taps, i, place->column * taps->strides[1] + taps->first_column);
        job->sink.pixel[i] = place->at;
        tilewright_xpulpv2_next_pixel(taps, y, place);
    }
}

int32_t tilewright_xpulpv2_advance(const struct tilewright_xpulpv2_taps *taps,
                                   const struct tilewright_view *y, int32_t most,
                                   struct tilewright_xpulpv2_place *place,
                                   struct tilewright_xpulpv2_job *job)
{
    const int32_t across = taps->strides[1];
    const int32_t column = place->column * across + taps->first_column;
    /* Columns from the first tap of the fourth pixel to the end of x. */
    const int32_t room =
        taps->x_columns - column - (taps->kernel[1] - 1) * taps->dilations[1] - 3 * across;
    const int is_dense = taps->way == TILEWRIGHT_XPULPV2_DENSE && column >= 0 && room > 0;
    int32_t fours = tilewright_smaller((taps->y_columns - place->column) / TILEWRIGHT_BLOCK, most);

    if (fours == 0) {
        advance_one_by_one(taps, y, place, job);
        return 1;
    }
    set_runs(taps, job, is_dense);
    if (!is_dense) {
        fours = 1;
        point_apart(taps, column);
    } else {
        point_four(taps, column);
        if (fours > 1) {
            fours = tilewright_smaller(fours, (room - 1) / (TILEWRIGHT_BLOCK * across) + 1);
        }
    }
    uint8_t *at = place->at;
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        job->sink.pixel[i] = at;
        at += taps->y_stride;
    }
    place->at += (ptrdiff_t)fours * TILEWRIGHT_BLOCK * taps->y_stride;
    place->column += fours * TILEWRIGHT_BLOCK;
    if (place->column == taps->y_columns && place->row < taps->y_last_row) {
        tilewright_xpulpv2_next_row(taps, y, place);
    }
    return fours;
}
