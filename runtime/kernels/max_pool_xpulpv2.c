/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/window.h"
#include "tilewright/kernels/xpulpv2_words.h"

enum { X, Y };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };
/* Rows of a window whose addresses are found once for a row of y, and the columns that a loop
 * without a loop in it reads. */
enum { FOUND = 3, COLUMNS = 3 };

/* The taps of a pixel's window that lie in the tile of x. */
struct window {
    const struct tilewright_view *x;
    struct tilewright_window rows;
    const uint8_t *row_at[FOUND];
    int32_t found; /* rows in row_at */
    int32_t row_dilation;
    int32_t columns;
    int32_t step;     /* bytes from column to column of the window */
    ptrdiff_t offset; /* bytes from the beginning of a row of x to the window's first column */
    int32_t is_unsigned;
};

static const uint8_t *row_at(const struct window *window, int32_t row)
{
    return tilewright_row(window->x, HEIGHT, window->rows.start + row * window->row_dilation);
}

static const uint8_t *row_of(const struct window *window, int32_t row)
{
    const int32_t number = row - window->rows.first;
    return (number < window->found ? window->row_at[number] : row_at(window, row)) + window->offset;
}

/* Finds the rows of x for the windows of a row of y, if there is room: where x is a ring, a row
 * takes a division. */
static void find_rows(struct window *window)
{
    const int32_t rows = window->rows.end - window->rows.first;
    window->found = rows <= FOUND ? rows : 0;
    for (int32_t i = 0; i < window->found; i++) {
        window->row_at[i] = row_at(window, window->rows.first + i);
    }
}

#if defined(__riscv) && __riscv_xlen == 32

/* clang-format off */
/* A hardware loop has at least three instructions, and the nop lets the word arrive. */
#define FOLD(larger)                                                                               \
    __asm__ volatile(                                                                              \
        XPULPV2_LOOP("%[count]", "6")                                                              \
        XPULPV2_LOAD_WORD_STEP("%[word]", "%[at]", "%[step]")                                      \
        "nop\n"                                                                                    \
        larger("%[largest]", "%[largest]", "%[word]")                                              \
        XPULPV2_LOOP_END                                                                           \
        : [largest] "+r"(largest), [at] "+r"(at), [word] "=&r"(word)                               \
        : [count] "r"(window->columns), [step] "r"(window->step)                                   \
        : "memory")
/* clang-format on */

/* The largest of four channels each, over a row of the window from `at` on. */
static uint32_t larger_words(const struct window *window, const uint8_t *at, uint32_t largest)
{
    uint32_t word;
    if (window->is_unsigned != 0) {
        FOLD(XPULPV2_MAX_UNSIGNED_BYTES);
    } else {
        FOLD(XPULPV2_MAX_BYTES);
    }
    return largest;
}

#else

static uint32_t larger_words(const struct window *window, const uint8_t *at, uint32_t largest)
{
    const uint32_t flip = window->is_unsigned != 0 ? 0 : 128;
    for (int32_t i = 0; i < window->columns; i++) {
        for (uint32_t shift = 0; shift < 32u; shift += 8u) {
            const uint32_t byte = at[shift / 8u], known = largest >> shift & 0xffu;
            if ((byte ^ flip) > (known ^ flip)) {
                largest = (largest & ~(0xffu << shift)) | byte << shift;
            }
        }
        at += window->step;
    }
    return largest;
}

#endif

static void store_four(const struct window *window, int32_t channel, uint8_t *to)
{
    uint32_t largest = window->is_unsigned != 0 ? 0u : 0x80808080u;
    for (int32_t row = window->rows.first; row < window->rows.end; row++) {
        largest = larger_words(window, row_of(window, row) + channel, largest);
    }
    for (uint32_t shift = 0; shift < 32u; shift += 8u) {
        *to++ = (uint8_t)(largest >> shift);
    }
}

#if defined(__riscv) && __riscv_xlen == 32

/* clang-format off */
/* Each load moves its address on, the third one of a row to the next four channels. An instruction
 * lies between a load and the use of its word, which would wait otherwise. */
#define LARGEST_OF_NINE(larger)                                                                    \
    __asm__ volatile(                                                                              \
        XPULPV2_LOOP("%[count]", "36")                                                             \
        XPULPV2_LOAD_WORD_STEP("%[a]", "%[top]", "%[first]")                                       \
        XPULPV2_LOAD_WORD_STEP("%[b]", "%[top]", "%[second]")                                      \
        XPULPV2_LOAD_WORD_STEP("%[c]", "%[top]", "%[back]")                                        \
        larger("%[a]", "%[a]", "%[b]")                                                             \
        XPULPV2_LOAD_WORD_STEP("%[b]", "%[middle]", "%[first]")                                    \
        larger("%[a]", "%[a]", "%[c]")                                                             \
        XPULPV2_LOAD_WORD_STEP("%[c]", "%[middle]", "%[second]")                                   \
        larger("%[a]", "%[a]", "%[b]")                                                             \
        XPULPV2_LOAD_WORD_STEP("%[b]", "%[middle]", "%[back]")                                     \
        larger("%[a]", "%[a]", "%[c]")                                                             \
        XPULPV2_LOAD_WORD_STEP("%[c]", "%[bottom]", "%[first]")                                    \
        larger("%[a]", "%[a]", "%[b]")                                                             \
        XPULPV2_LOAD_WORD_STEP("%[b]", "%[bottom]", "%[second]")                                   \
        larger("%[a]", "%[a]", "%[c]")                                                             \
        XPULPV2_LOAD_WORD_STEP("%[c]", "%[bottom]", "%[back]")                                     \
        larger("%[a]", "%[a]", "%[b]")                                                             \
        larger("%[a]", "%[a]", "%[c]")                                                             \
        XPULPV2_STORE_WORD_STEP("%[a]", "%[to]", "%[four]")                                        \
        XPULPV2_LOOP_END                                                                           \
        : [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [top] "+r"(top), [middle] "+r"(middle),        \
          [bottom] "+r"(bottom), [to] "+r"(to)                                                     \
        : [count] "r"(count), [first] "r"(first), [second] "r"(second), [back] "r"(back),          \
          [four] "r"(4)                                                                            \
        : "memory")
/* clang-format on */

/* Words of four channels, from windows of at most 3x3 taps whose rows are found. Nine taps are
 * read: where there are fewer rows or columns, some of them again. */
static void store_words(const struct window *window, int32_t channel, int32_t count, uint8_t *to)
{
    const ptrdiff_t offset = window->offset + channel;
    const int32_t rows = window->rows.end - window->rows.first;
    const int32_t first = window->columns > 1 ? window->step : 0;
    const int32_t second = window->columns > 2 ? window->step : 0;
    const int32_t back = 4 - first - second;
    const uint8_t *top = window->row_at[0] + offset;
    const uint8_t *middle = window->row_at[rows > 1 ? 1 : 0] + offset;
    const uint8_t *bottom = window->row_at[rows - 1] + offset;
    uint32_t a, b, c;
    if (window->is_unsigned != 0) {
        LARGEST_OF_NINE(XPULPV2_MAX_UNSIGNED_BYTES);
    } else {
        LARGEST_OF_NINE(XPULPV2_MAX_BYTES);
    }
}

#else

static void store_words(const struct window *window, int32_t channel, int32_t count, uint8_t *to)
{
    for (int32_t i = 0; i < count; i++) {
        store_four(window, channel + 4 * i, to + (ptrdiff_t)4 * i);
    }
}

#endif

static int is_small(const struct window *window)
{
    return window->found > 0 && window->columns <= COLUMNS;
}

/* One channel; `offset` are its bytes behind the first one. */
static void store_one(const struct window *window, ptrdiff_t offset, uint8_t *to)
{
    const int32_t flip = window->is_unsigned != 0 ? 0 : 128;
    int32_t largest = 0;
    for (int32_t row = window->rows.first; row < window->rows.end; row++) {
        const uint8_t *at = row_of(window, row) + offset;
        for (int32_t i = 0; i < window->columns; i++) {
            const int32_t value = *at ^ flip;
            largest = value > largest ? value : largest;
            at += window->step;
        }
    }
    *to = (uint8_t)(largest ^ flip);
}

/* As many words of four channels as there are, whose bytes lie side by side in y. */
static void store_beside(const struct window *window, int32_t count, uint8_t *to)
{
    if (is_small(window)) {
        store_words(window, 0, count, to);
        return;
    }
    for (int32_t channel = 0; channel < 4 * count; channel += 4) {
        store_four(window, channel, to + channel);
    }
}

/* The same of small windows, whose bytes are `step` apart in y. */
static void store_apart(const struct window *window, int32_t count, uint8_t *to, ptrdiff_t step)
{
    for (int32_t channel = 0; channel < 4 * count; channel += 4) {
        uint8_t four[4];
        store_words(window, channel, 1, four);
        for (int32_t i = 0; i < 4; i++) {
            *to = four[i];
            to += step;
        }
    }
}

static void store_pixel(const struct window *window, const struct tilewright_shape *in,
                        const struct tilewright_shape *out, uint8_t *to)
{
    const int32_t channels = out->extent[CHANNEL], words = channels / 4;
    const int32_t step = out->stride[CHANNEL];
    int32_t channel = 0;
    if (in->stride[CHANNEL] == 1 && window->columns > 0 && words > 0) {
        if (step == 1) {
            store_beside(window, words, to);
            channel = 4 * words;
        } else if (is_small(window)) {
            store_apart(window, words, to, step);
            channel = 4 * words;
        }
    }
    for (; channel < channels; channel++) {
        store_one(window, (ptrdiff_t)channel * in->stride[CHANNEL], to + (ptrdiff_t)channel * step);
    }
}

void tilewright_max_pool_xpulpv2_words(
    const struct tilewright_max_pool_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const struct tilewright_max_pool_integer_attributes *a = attributes;
    (void)flags;
    struct window window = {
        .x = &operands[X],
        .row_dilation = a->dilations[0],
        .step = a->dilations[1] * in->stride[WIDTH],
        .is_unsigned = a->is_unsigned,
    };
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        for (int32_t i = 0; i < out->extent[HEIGHT]; i++) {
            const int32_t row = out->origin[HEIGHT] + i;
            uint8_t *to =
                tilewright_row(&operands[Y], HEIGHT, row) + (ptrdiff_t)n * out->stride[BATCH];
            window.rows = tilewright_window_at(in, HEIGHT, row, a->strides[0], a->pads[0],
                                               a->kernel[0], a->dilations[0]);
            find_rows(&window);
            for (int32_t j = 0; j < out->extent[WIDTH]; j++) {
                const struct tilewright_window columns =
                    tilewright_window_at(in, WIDTH, out->origin[WIDTH] + j, a->strides[1],
                                         a->pads[1], a->kernel[1], a->dilations[1]);
                const int32_t first = columns.start + columns.first * a->dilations[1];
                window.columns = columns.end - columns.first;
                window.offset = (ptrdiff_t)n * in->stride[BATCH] +
                                (ptrdiff_t)(first - in->origin[WIDTH]) * in->stride[WIDTH];
                store_pixel(&window, in, out, to);
                to += out->stride[WIDTH];
            }
        }
    }
}
