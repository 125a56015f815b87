/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_taps.h"

#include "tilewright/kernels/xpulpv2_words.h"

_Static_assert(sizeof(struct tilewright_xpulpv2_taps) <= TILEWRIGHT_XPULPV2_TAPS_BYTES,
               "the kernels' declarations know how much scratch this takes");

enum { HEIGHT = 2 };
enum { WORD = 4 };

/* Bytes that lie side by side: whole words, and bytes behind them. */
struct run {
    uint32_t words, rest;
};

static struct run run_of(int32_t bytes)
{
    return (struct run){(uint32_t)bytes / WORD, (uint32_t)bytes % WORD};
}

TILEWRIGHT_INLINE void copy_run(uint8_t *to, const uint8_t *from, struct run run)
{
#if defined(__riscv) && __riscv_xlen == 32
    if (run.words != 0) {
        int32_t word;
        /* clang-format off */
        __asm__ volatile(
            /* Three instructions are the fewest of a loop; the word is not there before. */
            XPULPV2_LOOP("%[count]", "6")
            XPULPV2_LOAD_WORD("%[word]", "%[from]")
            "nop\n"
            XPULPV2_STORE_WORD_STEP("%[word]", "%[to]", "%[four]")
            XPULPV2_LOOP_END
            : [to] "+r"(to), [from] "+r"(from), [word] "=&r"(word)
            : [count] "r"(run.words), [four] "r"(WORD)
            : "memory");
        /* clang-format on */
    }
    tilewright_xpulpv2_copy_bytes(to, from, 1, (int32_t)run.rest);
#else
    tilewright_xpulpv2_copy_bytes(to, from, 1, (int32_t)(WORD * run.words + run.rest));
#endif
}

/* Whether the taps of a row of the kernel lie side by side in x, so that they are copied together.
 */
static int is_run(const struct tilewright_xpulpv2_taps *taps)
{
    return taps->x_channel_stride == 1 && taps->x_stride == taps->inputs && taps->dilations[1] == 1;
}

/* Copies all taps of a pixel, side by side as [kh][kw][c]. */
static TILEWRIGHT_NOINLINE void copy_taps(const struct tilewright_xpulpv2_taps *taps, uint8_t *slot,
                                          int32_t column)
{
    const int32_t inputs = taps->inputs;
    const int32_t columns = taps->x_columns;
    const int32_t is_words = inputs % WORD == 0 && taps->x_channel_stride == 1;
    const struct run run = run_of(taps->run_bytes);
    const int is_inside_x = column >= 0 && column + taps->kernel[1] <= columns && is_run(taps);
    for (int32_t kh = 0; kh < taps->kernel[0]; kh++) {
        const uint8_t *row = taps->x_rows_at[kh];
        int32_t at = column;
        if (is_inside_x && row != NULL) {
            copy_run(slot, row + (ptrdiff_t)column * inputs, run);
            slot += taps->run_bytes;
            continue;
        }
        for (int32_t kw = 0; kw < taps->kernel[1]; kw++) {
            const int is_inside = row != NULL && (uint32_t)at < (uint32_t)columns;
            const uint8_t *from =
                is_inside ? row + (ptrdiff_t)at * taps->x_stride : taps->padding_row;
            if (is_words) {
                tilewright_xpulpv2_copy_words(slot, from, inputs);
            } else {
                tilewright_xpulpv2_copy_bytes(slot, from, is_inside ? taps->x_channel_stride : 1,
                                              inputs);
            }
            slot += inputs;
            at += taps->dilations[1];
        }
    }
}

/* Sets the runs of pixel i of four: one run for each tap, in x or in the padding, or one run of
 * copied taps. */
static TILEWRIGHT_NOINLINE void point(const struct tilewright_xpulpv2_taps *taps, int32_t i,
                                      int32_t column)
{
    struct tilewright_xpulpv2_run *run = tilewright_xpulpv2_runs(taps);
    if (taps->way == TILEWRIGHT_XPULPV2_COPIED) {
        uint8_t *slot = tilewright_xpulpv2_slots(taps) + i * taps->slot_bytes;
        run->pixel[i] = slot;
        copy_taps(taps, slot, column);
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

/* Copies the taps of four pixels of one row, none of which lie left or right of x. */
static TILEWRIGHT_NOINLINE void copy_four(const struct tilewright_xpulpv2_taps *taps,
                                          int32_t column)
{
    struct tilewright_xpulpv2_run *const runs = tilewright_xpulpv2_runs(taps);
    const uint8_t *const *const end = taps->x_rows_at + taps->kernel[0];
    const struct run row_run = run_of(taps->run_bytes), tap_run = run_of(taps->inputs);
    const int32_t row_bytes = taps->run_bytes, tap_bytes = taps->inputs;
    const int32_t step = taps->strides[1] * taps->x_stride;
    uint8_t *slot = tilewright_xpulpv2_slots(taps);
    ptrdiff_t offset = (ptrdiff_t)column * taps->x_stride;

    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        uint8_t *to = slot;
        for (const uint8_t *const *row = taps->x_rows_at; row != end; row++) {
            uint8_t *const next = to + row_bytes;
            if (*row != NULL) {
                copy_run(to, *row + offset, row_run);
                to = next;
                continue;
            }
            for (; to != next; to += tap_bytes) {
                copy_run(to, taps->padding_row, tap_run);
            }
        }
        runs->pixel[i] = slot;
        slot += taps->slot_bytes;
        offset += step;
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

/* The first tap of the pixel at `place` in the first plane. */
static const uint8_t *in_planes(const struct tilewright_xpulpv2_taps *taps,
                                const struct tilewright_view *y,
                                const struct tilewright_xpulpv2_place *place)
{
    const int32_t row = (place->row - y->shape->origin[HEIGHT]) * taps->strides[0];
    return taps->padding_row + row * taps->x_stride + place->column * taps->strides[1];
}

/* Moves `place` to the next pixel; it stays at the last. */
static TILEWRIGHT_NOINLINE void next_pixel(const struct tilewright_xpulpv2_taps *taps,
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
        next_pixel(taps, y, place);
    }
}

/* Sets the first taps in the planes and the results of four pixels, and moves `place` behind them.
 */
TILEWRIGHT_INLINE void next_four(const struct tilewright_xpulpv2_taps *taps,
                                 const struct tilewright_view *y,
                                 struct tilewright_xpulpv2_place *place, const uint8_t **from,
                                 uint8_t **to)
{
    if (place->column + TILEWRIGHT_BLOCK > taps->y_columns) {
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
            from[i] = in_planes(taps, y, place);
            to[i] = place->at;
            next_pixel(taps, y, place);
        }
        return;
    }
    from[0] = in_planes(taps, y, place);
    to[0] = place->at;
    TILEWRIGHT_UNROLL_4
    for (int32_t i = 1; i < TILEWRIGHT_BLOCK; i++) {
        from[i] = from[i - 1] + taps->strides[1];
        to[i] = to[i - 1] + taps->y_stride;
    }
    place->column += TILEWRIGHT_BLOCK - 1;
    place->at = to[TILEWRIGHT_BLOCK - 1];
    next_pixel(taps, y, place);
}

int32_t tilewright_xpulpv2_advance_planes(const struct tilewright_xpulpv2_taps *taps,
                                          const struct tilewright_view *y, int32_t most,
                                          struct tilewright_xpulpv2_place *place,
                                          struct tilewright_xpulpv2_job *job)
{
    const struct tilewright_shape *out = y->shape;
    const int is_line =
        out->ring_rows == 0 && out->stride[HEIGHT] == taps->y_columns * taps->y_stride;
    const int32_t rows_left = is_line ? taps->y_last_row - place->row : 0;
    const int32_t left = rows_left * taps->y_columns + taps->y_columns - place->column;
    const int32_t whole =
        tilewright_smaller(tilewright_smaller(left / TILEWRIGHT_BLOCK, most), taps->most);
    const int32_t fours = whole < 1 ? 1 : whole;
    struct tilewright_xpulpv2_run *run = tilewright_xpulpv2_runs(taps);
    uint8_t *slot = tilewright_xpulpv2_slots(taps);

    set_runs(taps, job, 0);
    run->step = (uintptr_t)(TILEWRIGHT_BLOCK * taps->slot_bytes);
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        run->pixel[i] = slot + i * taps->slot_bytes;
    }
    for (int32_t four = 0; four < fours; four++) {
        const uint8_t *from[TILEWRIGHT_BLOCK];
        uint8_t *others[TILEWRIGHT_BLOCK];
        next_four(taps, y, place, from, four == 0 ? job->sink.pixel : others);
        if (taps->run_bytes <= 2 * WORD) {
            tilewright_xpulpv2_copy_four(taps, slot, from);
        } else {
            for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
                tilewright_xpulpv2_copy_pixel(taps, slot + i * taps->slot_bytes, from[i]);
            }
        }
        slot += TILEWRIGHT_BLOCK * taps->slot_bytes;
    }
    return fours;
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
    const int is_inside = column >= 0 && room > 0;
    const int is_dense = taps->way == TILEWRIGHT_XPULPV2_DENSE && is_inside;
    const int is_copied = taps->way == TILEWRIGHT_XPULPV2_COPIED;
    int32_t fours = tilewright_smaller((taps->y_columns - place->column) / TILEWRIGHT_BLOCK, most);

    if (fours == 0 || (is_copied && !(is_inside && is_run(taps)))) {
        advance_one_by_one(taps, y, place, job);
        return 1;
    }
    set_runs(taps, job, is_dense);
    if (is_copied) {
        fours = 1;
        copy_four(taps, column);
    } else if (!is_dense) {
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
