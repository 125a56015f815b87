/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/xpulpv2_taps.h"

#include "tilewright/kernels/xpulpv2_words.h"

enum { CHANNEL = 1, HEIGHT = 2, WIDTH = 3 };
enum { WORD = 4 };

/* Copies a word of each row of the kernel for four pixels: `rows` rows that are `pitch` bytes apart
 * in the plane and `apart` bytes in slots, which are `slot_bytes` apart. All pointers move on. */
#if defined(__riscv) && __riscv_xlen == 32

/* clang-format off */
#define COPY_ROWS(to, a, b, c, d, rows, pitch, slot_bytes, apart)                                  \
    do {                                                                                           \
        int32_t word_a, word_b, word_c, word_d;                                                    \
        __asm__ volatile(                                                                          \
            XPULPV2_LOOP("%[count]", "16")                                                         \
            XPULPV2_LOAD_WORD_STEP("%[wa]", "%[pa]", "%[down]")                                    \
            XPULPV2_LOAD_WORD_STEP("%[wb]", "%[pb]", "%[down]")                                    \
            XPULPV2_LOAD_WORD_STEP("%[wc]", "%[pc]", "%[down]")                                    \
            XPULPV2_LOAD_WORD_STEP("%[wd]", "%[pd]", "%[down]")                                    \
            XPULPV2_STORE_WORD_STEP("%[wa]", "%[at]", "%[slot]")                                   \
            XPULPV2_STORE_WORD_STEP("%[wb]", "%[at]", "%[slot]")                                   \
            XPULPV2_STORE_WORD_STEP("%[wc]", "%[at]", "%[slot]")                                   \
            XPULPV2_STORE_WORD_STEP("%[wd]", "%[at]", "%[back]")                                   \
            XPULPV2_LOOP_END                                                                       \
            : [pa] "+r"(a), [pb] "+r"(b), [pc] "+r"(c), [pd] "+r"(d), [at] "+r"(to),               \
              [wa] "=&r"(word_a), [wb] "=&r"(word_b), [wc] "=&r"(word_c), [wd] "=&r"(word_d)       \
            : [count] "r"(rows), [down] "r"(pitch), [slot] "r"(slot_bytes),                        \
              [back] "r"((apart) - 3 * (slot_bytes))                                               \
            : "memory");                                                                           \
    } while (0)

/* The same of two words of each row. */
#define COPY_PIXEL(at, to, back)                                                                   \
    XPULPV2_LOAD_WORD("%[first]", at)                                                              \
    XPULPV2_LOAD_WORD_STEP("%[second]", at, "%[down]")                                             \
    XPULPV2_STORE_WORD_STEP("%[first]", to, "%[four]")                                             \
    XPULPV2_STORE_WORD_STEP("%[second]", to, back)
#define COPY_WIDE_ROWS(to, a, b, c, d, rows, pitch, slot_bytes, apart)                             \
    do {                                                                                           \
        int32_t first_word, second_word;                                                           \
        __asm__ volatile(                                                                          \
            XPULPV2_LOOP("%[count]", "32")                                                         \
            COPY_PIXEL("%[pa]", "%[at]", "%[slot]")                                                \
            COPY_PIXEL("%[pb]", "%[at]", "%[slot]")                                                \
            COPY_PIXEL("%[pc]", "%[at]", "%[slot]")                                                \
            COPY_PIXEL("%[pd]", "%[at]", "%[back]")                                                \
            XPULPV2_LOOP_END                                                                       \
            : [pa] "+r"(a), [pb] "+r"(b), [pc] "+r"(c), [pd] "+r"(d), [at] "+r"(to),               \
              [first] "=&r"(first_word), [second] "=&r"(second_word)                               \
            : [count] "r"(rows), [down] "r"((pitch) - WORD), [four] "r"(WORD),                     \
              [slot] "r"((slot_bytes) - WORD), [back] "r"((apart) - 3 * (slot_bytes) - WORD)       \
            : "memory");                                                                           \
    } while (0)
/* clang-format on */

#else

static void copy_word(uint8_t *to, const uint8_t *from)
{
    tilewright_xpulpv2_put(to, tilewright_xpulpv2_word(from));
}

static void copy_two_words(uint8_t *to, const uint8_t *from)
{
    copy_word(to, from);
    copy_word(to + WORD, from + WORD);
}

#define COPY_ALL(copy, to, a, b, c, d, rows, pitch, slot_bytes, apart)                             \
    for (int32_t row = 0; row < (rows); row++) {                                                   \
        copy(to, a);                                                                               \
        copy((to) + (slot_bytes), b);                                                              \
        copy((to) + 2 * (slot_bytes), c);                                                          \
        copy((to) + 3 * (slot_bytes), d);                                                          \
        (a) += (pitch);                                                                            \
        (b) += (pitch);                                                                            \
        (c) += (pitch);                                                                            \
        (d) += (pitch);                                                                            \
        (to) += (apart);                                                                           \
    }
#define COPY_ROWS(...) COPY_ALL(copy_word, __VA_ARGS__)
#define COPY_WIDE_ROWS(...) COPY_ALL(copy_two_words, __VA_ARGS__)

#endif

void tilewright_xpulpv2_copy_pixel(const struct tilewright_xpulpv2_taps *taps, uint8_t *slot,
                                   const uint8_t *from)
{
    const int32_t rows = taps->kernel[0];
    const int32_t pitch = taps->dilations[0] * taps->x_stride;
    for (int32_t c = taps->inputs; c > 0; c--) {
        for (int32_t kh = 0; kh < rows; kh++) {
            tilewright_xpulpv2_copy_words(slot, from + kh * pitch, taps->run_bytes);
            slot += taps->kernel[1];
        }
        from += taps->x_channel_stride;
    }
}

void tilewright_xpulpv2_copy_four(const struct tilewright_xpulpv2_taps *taps, uint8_t *slot,
                                  const uint8_t *const *from)
{
    const uint8_t *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    const int32_t rows = taps->kernel[0];
    const int32_t columns = taps->kernel[1];
    const int32_t slot_bytes = taps->slot_bytes;
    const int32_t pitch = taps->dilations[0] * taps->x_stride;
    const int32_t further = taps->x_channel_stride - rows * pitch;

    for (int32_t channels = taps->inputs; channels > 0; channels--) {
        if (taps->run_bytes == WORD) {
            COPY_ROWS(slot, a, b, c, d, rows, pitch, slot_bytes, columns);
        } else {
            COPY_WIDE_ROWS(slot, a, b, c, d, rows, pitch, slot_bytes, columns);
        }
        a += further;
        b += further;
        c += further;
        d += further;
    }
}

void tilewright_xpulpv2_planes(const struct tilewright_xpulpv2_taps *taps,
                               const struct tilewright_view *y,
                               const struct tilewright_xpulpv2_place *place)
{
    const int32_t channel_stride = taps->x->shape->stride[CHANNEL];
    /* 1; a compiler that knew would call memmove. */
    const int32_t column_stride = taps->x->shape->stride[WIDTH];
    const int32_t pitch = taps->x_stride;
    const int32_t plane = taps->x_channel_stride;
    const int32_t span = (taps->y_columns - 1) * taps->strides[1] + taps->kernel[1];
    /* Columns of a plane that lie before x, and those that x has. */
    const int32_t before = taps->first_column < 0 ? -taps->first_column : 0;
    const int32_t skipped = taps->first_column + before;
    const int32_t held = tilewright_smaller(taps->x_columns - skipped, span - before);
    const int32_t words = held / WORD * WORD;
    int32_t row = y->shape->origin[HEIGHT] * taps->strides[0] + taps->first_row;
    uint8_t *to = taps->padding_row + before;

    for (int32_t left = plane; left > 0 && held > 0; left -= pitch) {
        if ((uint32_t)(row - taps->x_row) < (uint32_t)taps->x_rows) {
            const uint8_t *from = tilewright_row(taps->x, HEIGHT, row) + place->offset_in + skipped;
            for (int32_t c = 0; c < taps->inputs; c++) {
                tilewright_xpulpv2_copy_words(to + c * plane, from, words);
                tilewright_xpulpv2_copy_bytes(to + c * plane + words, from + words, column_stride,
                                              held - words);
                from += channel_stride;
            }
        }
        to += pitch;
        row++;
    }
}

/* The first tap of the pixel at `place` in the first plane. */
static const uint8_t *in_planes(const struct tilewright_xpulpv2_taps *taps,
                                const struct tilewright_view *y,
                                const struct tilewright_xpulpv2_place *place)
{
    const int32_t row = (place->row - y->shape->origin[HEIGHT]) * taps->strides[0];
    return taps->padding_row + row * taps->x_stride + place->column * taps->strides[1];
}

/* Sets the first taps in the planes and the results of four pixels one by one, and moves `place`
 * behind them. */
static TILEWRIGHT_NOINLINE void next_pixels(const struct tilewright_xpulpv2_taps *taps,
                                            const struct tilewright_view *y,
                                            struct tilewright_xpulpv2_place *place,
                                            const uint8_t **from, uint8_t **to)
{
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        from[i] = in_planes(taps, y, place);
        to[i] = place->at;
        tilewright_xpulpv2_next_pixel(taps, y, place);
    }
}

/* The same, of pixels of one row where there are four. */
TILEWRIGHT_INLINE void next_four(const struct tilewright_xpulpv2_taps *taps,
                                 const struct tilewright_view *y,
                                 struct tilewright_xpulpv2_place *place, const uint8_t **from,
                                 uint8_t **to)
{
    if (place->column + TILEWRIGHT_BLOCK > taps->y_columns) {
        next_pixels(taps, y, place, from, to);
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
    tilewright_xpulpv2_next_pixel(taps, y, place);
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
    uint8_t *slot = tilewright_xpulpv2_slots(taps);

    tilewright_xpulpv2_take_slots(taps, job);
    tilewright_xpulpv2_runs(taps)->step = (uintptr_t)(TILEWRIGHT_BLOCK * taps->slot_bytes);
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
