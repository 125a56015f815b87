/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_taps.h"

_Static_assert(sizeof(struct tilewright_xpulpv2_taps) <= TILEWRIGHT_XPULPV2_TAPS_BYTES,
               "the kernels' declarations know how much scratch this takes");

enum { HEIGHT = 2 };
enum { WORD = 4 };

static void copy_words(uint8_t *to, const uint8_t *from, int32_t bytes)
{
    for (; bytes > 0; bytes -= WORD) {
        tilewright_xpulpv2_put(to, tilewright_xpulpv2_word(from));
        to += WORD;
        from += WORD;
    }
}

static void copy_bytes(uint8_t *restrict to, const uint8_t *restrict from, int32_t stride,
                       int32_t count)
{
    for (; count > 0; count--) {
        *to++ = *from;
        from += stride;
    }
}

/* Copies all taps of a pixel, side by side as [kh][kw][c]. */
static TILEWRIGHT_NOINLINE void copy_taps(const struct tilewright_xpulpv2_taps *taps, uint8_t *slot,
                                          int32_t column)
{
    const int32_t inputs = taps->inputs;
    const int32_t columns = taps->x_columns;
    const int32_t is_words = inputs % WORD == 0 && taps->x_channel_stride == 1;
    for (int32_t kh = 0; kh < taps->kernel[0]; kh++) {
        const uint8_t *row = taps->x_rows_at[kh];
        int32_t at = column;
        for (int32_t kw = 0; kw < taps->kernel[1]; kw++) {
            const int is_inside = row != NULL && (uint32_t)at < (uint32_t)columns;
            const uint8_t *from =
                is_inside ? row + (ptrdiff_t)at * taps->x_stride : taps->padding_row;
            if (is_words) {
                copy_words(slot, from, inputs);
            } else {
                copy_bytes(slot, from, is_inside ? taps->x_channel_stride : 1, inputs);
            }
            slot += inputs;
            at += taps->dilations[1];
        }
    }
}

/* Copies all taps of a pixel as [c][kh][kw]. A row of the kernel is copied in whole words; the next
 * row overwrites the bytes behind its end. The bytes behind the last row meet weights of zero. */
static TILEWRIGHT_NOINLINE void copy_planes(const struct tilewright_xpulpv2_taps *taps,
                                            uint8_t *slot, int32_t column)
{
    const int32_t row_bytes = taps->run_bytes;
    const int32_t columns = taps->kernel[1];
    const int is_within = column >= 0 && column + row_bytes <= taps->x_columns;
    for (int32_t c = 0; c < taps->inputs; c++) {
        const ptrdiff_t offset = (ptrdiff_t)c * taps->x_channel_stride + column;
        for (int32_t kh = 0; kh < taps->kernel[0]; kh++) {
            const uint8_t *row = taps->x_rows_at[kh];
            if (row == NULL) {
                copy_words(slot, taps->padding_row, row_bytes);
            } else if (is_within) {
                copy_words(slot, row + offset, row_bytes);
            } else {
                for (int32_t kw = 0; kw < columns; kw++) {
                    const int is_inside = (uint32_t)(column + kw) < (uint32_t)taps->x_columns;
                    slot[kw] = is_inside ? row[offset + kw] : taps->padding_row[0];
                }
            }
            slot += columns;
        }
    }
}

/* As copy_planes, for rows of the kernel of one word, all of whose bytes lie in x. */
static TILEWRIGHT_NOINLINE void copy_inside(const struct tilewright_xpulpv2_taps *taps,
                                            uint8_t *slot, int32_t column)
{
    const uint32_t padding = tilewright_load_word(taps->padding_row);
    const int32_t columns = taps->kernel[1];
    const int32_t rows = taps->kernel[0];
    ptrdiff_t offset = column;

    for (int32_t c = taps->inputs; c > 0; c--) {
        const uint8_t **row = taps->x_rows_at;
        for (int32_t kh = rows; kh > 0; kh--) {
            const uint8_t *at = *row++;
            tilewright_xpulpv2_put(slot,
                                   at == NULL ? padding : tilewright_xpulpv2_word(at + offset));
            slot += columns;
        }
        offset += taps->x_channel_stride;
    }
}

/* As copy_inside, for words that may reach beyond a row of x, which has at least one word: such a
 * word is shifted out of the nearest word that lies in the row, and padding fills the rest. */
static TILEWRIGHT_NOINLINE void copy_word_planes(const struct tilewright_xpulpv2_taps *taps,
                                                 uint8_t *slot, int32_t column)
{
    const int32_t last = taps->x_columns - WORD;
    const int32_t first = column < 0 ? 0 : column > last ? last : column;
    if (first == column) {
        copy_inside(taps, slot, column);
        return;
    }
    const uint32_t left = column < 0 ? (uint32_t)-column * 8u : 0u;
    const uint32_t right = column > last ? (uint32_t)(column - last) * 8u : 0u;
    const int is_beyond = left >= 32u || right >= 32u;
    const uint32_t seen = is_beyond ? 0u : 0xffffffffu << left >> right;
    const uint32_t padding = tilewright_load_word(taps->padding_row);
    const uint32_t beside = padding & ~seen;
    const int32_t columns = taps->kernel[1];
    const int32_t rows = taps->kernel[0];
    ptrdiff_t offset = first;

    for (int32_t c = taps->inputs; c > 0; c--) {
        const uint8_t **row = taps->x_rows_at;
        for (int32_t kh = rows; kh > 0; kh--) {
            const uint8_t *at = *row++;
            uint32_t word = padding;
            if (at != NULL && !is_beyond) {
                word = (tilewright_xpulpv2_word(at + offset) << left >> right) | beside;
            }
            tilewright_xpulpv2_put(slot, word);
            slot += columns;
        }
        offset += taps->x_channel_stride;
    }
}

/* As copy_inside, for four pixels of one row. */
static TILEWRIGHT_NOINLINE void copy_four(const struct tilewright_xpulpv2_taps *taps, uint8_t *slot,
                                          int32_t column)
{
    const int32_t across = taps->strides[1];
    const int32_t slot_bytes = taps->slot_bytes;
    const int32_t columns = taps->kernel[1];
    const int32_t rows = taps->kernel[0];
    const uint8_t *const padding_row = taps->padding_row;
    ptrdiff_t offset = column;

    for (int32_t c = taps->inputs; c > 0; c--) {
        const uint8_t **row = taps->x_rows_at;
        for (int32_t kh = rows; kh > 0; kh--) {
            const uint8_t *at = *row++;
            int32_t step = across;
            if (at == NULL) {
                at = padding_row;
                step = 0;
            } else {
                at += offset;
            }
            uint8_t *to = slot;
            TILEWRIGHT_UNROLL_4
            for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
                tilewright_xpulpv2_put(to, tilewright_xpulpv2_word(at));
                at += step;
                to += slot_bytes;
            }
            slot += columns;
        }
        offset += taps->x_channel_stride;
    }
}

/* Copies `fours` times four pixels of one row, a word for each row of the kernel and channel. */
static void copy_fours(const struct tilewright_xpulpv2_taps *taps, int32_t column, int32_t fours)
{
    struct tilewright_xpulpv2_run *run = tilewright_xpulpv2_runs(taps);
    const int32_t across = taps->strides[1];
    const int32_t slot_bytes = taps->slot_bytes;
    const int32_t last = taps->x_columns - WORD - 3 * across;
    uint8_t *slot = tilewright_xpulpv2_slots(taps);

    run->step = (uintptr_t)(TILEWRIGHT_BLOCK * slot_bytes);
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        run->pixel[i] = slot + i * slot_bytes;
    }
    for (; fours > 0; fours--) {
        if (column >= 0 && column <= last) {
            copy_four(taps, slot, column);
            slot += TILEWRIGHT_BLOCK * slot_bytes;
            column += TILEWRIGHT_BLOCK * across;
            continue;
        }
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
            copy_word_planes(taps, slot, column);
            slot += slot_bytes;
            column += across;
        }
    }
}

/* Sets the runs of pixel i of four: one run for each tap, in x or in the padding, or one run of
 * copied taps. */
static TILEWRIGHT_NOINLINE void point(const struct tilewright_xpulpv2_taps *taps, int32_t i,
                                      int32_t column)
{
    struct tilewright_xpulpv2_run *run = tilewright_xpulpv2_runs(taps);
    if (taps->way < TILEWRIGHT_XPULPV2_DIRECT) {
        uint8_t *slot = tilewright_xpulpv2_slots(taps) + i * taps->slot_bytes;
        run->pixel[i] = slot;
        if (taps->way == TILEWRIGHT_XPULPV2_COPIED) {
            copy_taps(taps, slot, column);
        } else if (taps->run_bytes == WORD && taps->x_columns >= WORD) {
            copy_word_planes(taps, slot, column);
        } else {
            copy_planes(taps, slot, column);
        }
        return;
    }
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
    find_rows(taps, place);
}

/* Sets the number of runs and their words: a run is a row of the kernel, a tap, or a copied pixel.
 */
static void set_runs(const struct tilewright_xpulpv2_taps *taps, struct tilewright_xpulpv2_job *job,
                     int is_rows)
{
    int32_t runs = 1;
    int32_t bytes = taps->slot_bytes;
    if (taps->way >= TILEWRIGHT_XPULPV2_DIRECT) {
        runs = is_rows ? taps->kernel[0] : taps->kernel[0] * taps->kernel[1];
        bytes = is_rows ? taps->run_bytes : taps->inputs;
    }
    job->runs_end = job->runs + runs;
    job->run_words = bytes / WORD;
}

/* Sets runs and results of four pixels one by one, because some taps are padding or the row ends.
 */
static TILEWRIGHT_NOINLINE void advance_one_by_one(const struct tilewright_xpulpv2_taps *taps,
                                                   const struct tilewright_view *y,
                                                   struct tilewright_xpulpv2_place *place,
                                                   struct tilewright_xpulpv2_job *job)
{
    set_runs(taps, job, 0);
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        point(taps, i, place->column * taps->strides[1] + taps->first_column);
        job->sink.pixel[i] = place->at;
        if (place->column + 1 < taps->y_columns) {
            place->column++;
            place->at += taps->y_stride;
        } else if (place->row < taps->y_last_row) {
            tilewright_xpulpv2_next_row(taps, y, place);
        }
    }
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

int32_t tilewright_xpulpv2_advance(const struct tilewright_xpulpv2_taps *taps,
                                   const struct tilewright_view *y, int32_t most,
                                   struct tilewright_xpulpv2_place *place,
                                   struct tilewright_xpulpv2_job *job)
{
    const int32_t across = taps->strides[1];
    const int32_t column = place->column * across + taps->first_column;
    const int is_words = taps->way == TILEWRIGHT_XPULPV2_PLANAR && taps->run_bytes == WORD &&
                         taps->x_columns >= WORD;
    /* Columns from the first tap of the fourth pixel to the end of x. */
    const int32_t room =
        taps->x_columns - column - (taps->kernel[1] - 1) * taps->dilations[1] - 3 * across;
    const int is_dense = taps->way == TILEWRIGHT_XPULPV2_DENSE && column >= 0 && room > 0;
    int32_t fours = smaller((taps->y_columns - place->column) / TILEWRIGHT_BLOCK, most);

    if (fours == 0 || (!is_words && !is_dense)) {
        advance_one_by_one(taps, y, place, job);
        return 1;
    }
    set_runs(taps, job, 1);
    if (is_words) {
        fours = smaller(fours, taps->most);
        copy_fours(taps, column, fours);
    } else {
        point_four(taps, column);
        if (fours > 1) {
            fours = smaller(fours, (room - 1) / (TILEWRIGHT_BLOCK * across) + 1);
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
