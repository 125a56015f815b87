/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_taps.h"

#include "tilewright/kernels/xpulpv2_words.h"

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

/* Copies all taps of a pixel, side by side as [kh][kw][c]; the first one is in `column` of x. */
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

/* Copies the taps of four pixels of one row, none of which lie left or right of x. */
static TILEWRIGHT_NOINLINE void copy_four(const struct tilewright_xpulpv2_taps *taps,
                                          int32_t column)
{
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
        slot += taps->slot_bytes;
        offset += step;
    }
}

/* Copies taps and sets results of four pixels one by one, because some taps are padding or the row
 * ends. */
static TILEWRIGHT_NOINLINE void advance_one_by_one(const struct tilewright_xpulpv2_taps *taps,
                                                   const struct tilewright_view *y,
                                                   struct tilewright_xpulpv2_place *place,
                                                   struct tilewright_xpulpv2_job *job)
{
    uint8_t *slot = tilewright_xpulpv2_slots(taps);
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        copy_taps(taps, slot, place->column * taps->strides[1] + taps->first_column);
        slot += taps->slot_bytes;
        job->sink.pixel[i] = place->at;
        tilewright_xpulpv2_next_pixel(taps, y, place);
    }
}

void tilewright_xpulpv2_advance_copied(const struct tilewright_xpulpv2_taps *taps,
                                       const struct tilewright_view *y,
                                       struct tilewright_xpulpv2_place *place,
                                       struct tilewright_xpulpv2_job *job)
{
    const int32_t column = place->column * taps->strides[1] + taps->first_column;
    const int32_t last = column + (TILEWRIGHT_BLOCK - 1) * taps->strides[1];
    const int is_inside = column >= 0 && last + taps->kernel[1] <= taps->x_columns;

    tilewright_xpulpv2_take_slots(taps, job);
    if (place->column + TILEWRIGHT_BLOCK > taps->y_columns || !is_inside || !is_run(taps)) {
        advance_one_by_one(taps, y, place, job);
        return;
    }
    copy_four(taps, column);
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        job->sink.pixel[i] = place->at;
        place->at += taps->y_stride;
    }
    place->column += TILEWRIGHT_BLOCK;
    if (place->column == taps->y_columns && place->row < taps->y_last_row) {
        tilewright_xpulpv2_next_row(taps, y, place);
    }
}
