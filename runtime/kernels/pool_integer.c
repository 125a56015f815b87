/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/average_rounding.h"
#include "tilewright/kernels/byte_taps.h"
#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/pool_rows.h"

enum { X, Y, PARTIAL };
enum { BATCH, CHANNEL, HEIGHT = TILEWRIGHT_POOL_HEIGHT, WIDTH };

static TILEWRIGHT_NOINLINE int32_t largest(const struct tilewright_pool_rows *w,
                                           const uint8_t *first, ptrdiff_t offset)
{
    return tilewright_pool_folded(w, first, offset, 0) ^ w->flip;
}

/* The sum of all byte ^ flip: for int8 128 more per element than the sum of the elements. */
static TILEWRIGHT_NOINLINE int32_t total(const struct tilewright_pool_rows *w, const uint8_t *first,
                                         ptrdiff_t offset)
{
    return tilewright_pool_folded(w, first, offset, 1);
}

/* MOST_TAPS: windows of more taps are not added up by words, since their sums need more than 16
 * bits or the core has vectors of taps. TOGETHER: channels whose sums are found at a time. Builds
 * for size have neither words nor products for whole windows. */
#if defined(__OPTIMIZE_SIZE__)
enum { MOST_TAPS = 0, TAKES_PRODUCTS = 0, TOGETHER = 1 };
#elif defined(__ARM_FEATURE_MVE)
enum { MOST_TAPS = TILEWRIGHT_POOL_WORD_TAPS, TAKES_PRODUCTS = 1, TOGETHER = 4 };
#else
enum { MOST_TAPS = TILEWRIGHT_POOL_HALF_TAPS, TAKES_PRODUCTS = 1, TOGETHER = 4 };
#endif

/* Whether the bytes of four channels of a window of so many taps are words; its first is at
 * `first`. */
static int has_words(const struct tilewright_pool_rows *w, const uint8_t *first, int32_t taps)
{
    const struct tilewright_shape *x = w->x->shape;
    const ptrdiff_t steps = w->step | w->pitch | x->stride[HEIGHT] | x->extent[CHANNEL];
    return taps <= MOST_TAPS && x->stride[CHANNEL] == 1 &&
           ((steps | (ptrdiff_t)(uintptr_t)first) & 3) == 0;
}

/* total() of four channels whose bytes are words. */
TILEWRIGHT_INLINE void four_totals(const struct tilewright_pool_rows *w, const uint8_t *first,
                                   ptrdiff_t offset, int32_t *sums)
{
    const uint32_t flips = (uint32_t)w->flip * 0x01010101u;
    const ptrdiff_t step = w->step;
    uint32_t even = 0, odd = 0;

    for (int32_t i = 0; i < w->rows.taps; i++) {
        const uint8_t *at = tilewright_pool_row_at(w, first, offset, i);
        for (int32_t taps = w->columns.taps; taps > 0; taps--) {
            const uint32_t word = tilewright_load_word(at) ^ flips;
            even += word & 0x00ff00ffu;
            odd += word >> 8 & 0x00ff00ffu;
            at += step;
        }
    }
    sums[0] = (int32_t)(even & 0xffffu);
    sums[1] = (int32_t)(odd & 0xffffu);
    sums[2] = (int32_t)(even >> 16);
    sums[3] = (int32_t)(odd >> 16);
}

/* The taps that lie in [lower, upper). */
static struct tilewright_pool_span clip(int32_t start, int32_t taps, int32_t dilation,
                                        int32_t lower, int32_t upper)
{
    struct tilewright_pool_span span = {start, taps, dilation};
    while (span.taps > 0 && span.first < lower) {
        span.first += dilation;
        span.taps--;
    }
    while (span.taps > 0 && span.first + (span.taps - 1) * dilation >= upper) {
        span.taps--;
    }
    return span;
}

static struct tilewright_pool_span held(const struct tilewright_shape *shape, int32_t axis,
                                        int32_t start, int32_t taps, int32_t dilation)
{
    return clip(start, taps, dilation, shape->origin[axis],
                shape->origin[axis] + shape->extent[axis]);
}

/* The taps in x of the window whose first tap, padding included, is at (top, left). *offset becomes
 * the bytes to the first column of these taps. */
static struct tilewright_pool_rows window(const struct tilewright_view *x, int32_t top,
                                          int32_t left, const int32_t *kernel,
                                          const int32_t *dilations, int32_t flip, ptrdiff_t *offset)
{
    const struct tilewright_shape *shape = x->shape;
    struct tilewright_pool_rows rows = {x,
                                        held(shape, HEIGHT, top, kernel[0], dilations[0]),
                                        held(shape, WIDTH, left, kernel[1], dilations[1]),
                                        0,
                                        0,
                                        flip};
    rows.step = (ptrdiff_t)dilations[1] * shape->stride[WIDTH];
    rows.pitch = (ptrdiff_t)dilations[0] * shape->stride[HEIGHT];
    *offset += (ptrdiff_t)(rows.columns.first - shape->origin[WIDTH]) * shape->stride[WIDTH];
    return rows;
}

/* The taps of the window that count, at least one. */
TILEWRIGHT_INLINE int32_t taps_counted(int32_t top, int32_t left, const int32_t *kernel,
                                       const int32_t *dilations, const int32_t *counted)
{
    const int32_t taps = clip(top, kernel[0], dilations[0], counted[0], counted[1]).taps *
                         clip(left, kernel[1], dilations[1], counted[2], counted[3]).taps;
    return taps > 0 ? taps : 1;
}

static uint8_t *pixel(const struct tilewright_view *y, int32_t n, int32_t oh, int32_t ow)
{
    const struct tilewright_shape *shape = y->shape;
    return tilewright_row(y, HEIGHT, oh) + (ptrdiff_t)n * shape->stride[BATCH] +
           (ptrdiff_t)(ow - shape->origin[WIDTH]) * shape->stride[WIDTH];
}

/* The taps on the axis of columns that lie in x. */
TILEWRIGHT_INLINE struct tilewright_pool_span
columns_at(const struct tilewright_shape *shape, int32_t left, int32_t taps, int32_t dilation)
{
    const int32_t before = left - shape->origin[WIDTH];
    if (before >= 0 && before + (taps - 1) * dilation < shape->extent[WIDTH]) {
        const struct tilewright_pool_span whole = {left, taps, dilation};
        return whole;
    }
    return held(shape, WIDTH, left, taps, dilation);
}

/* Stores the largest elements of all channels of one pixel at `to`. `first` is the window's first
 * tap in channel 0, `offset` bytes behind the row that it lies in; `beside` is for channels side by
 * side. */
static void maximum(const struct tilewright_pool_rows *rows, tilewright_largest_bytes *beside,
                    const uint8_t *first, ptrdiff_t offset, const struct tilewright_shape *out,
                    uint8_t *to)
{
    const struct tilewright_shape *in = rows->x->shape;
    int32_t c = out->extent[CHANNEL];
    if (beside != NULL && in->stride[CHANNEL] == 1 && out->stride[CHANNEL] == 1) {
        const ptrdiff_t ring_bytes = (ptrdiff_t)in->ring_rows * in->stride[HEIGHT];
        const struct tilewright_byte_taps taps = {
            .first = first,
            .rows = rows->rows.taps,
            .columns = rows->columns.taps,
            .row_bytes = rows->pitch,
            .column_bytes = rows->step,
            .ring_end = rows->x->base + offset + ring_bytes,
            .ring_bytes = ring_bytes,
        };
        const int32_t done = beside(&taps, c, to);
        to += done;
        first += done;
        offset += done;
        c -= done;
    }
    for (; c > 0; c--) {
        *to = (uint8_t)largest(rows, first, offset);
        to += out->stride[CHANNEL];
        first += in->stride[CHANNEL];
        offset += in->stride[CHANNEL];
    }
}

/* Computes one row of a maximum pooling. */
static void maximum_row(const struct tilewright_max_pool_integer_attributes *a,
                        const struct tilewright_view *operands, int32_t n, int32_t oh)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const ptrdiff_t image = (ptrdiff_t)n * in->stride[BATCH];
    struct tilewright_pool_rows rows = {
        .x = &operands[X],
        .rows = held(in, HEIGHT, oh * a->strides[0] - a->pads[0], a->kernel[0], a->dilations[0]),
        .step = (ptrdiff_t)a->dilations[1] * in->stride[WIDTH],
        .pitch = (ptrdiff_t)a->dilations[0] * in->stride[HEIGHT],
        .flip = a->is_unsigned != 0 ? 0 : 128,
    };
    const uint8_t *line = tilewright_row(&operands[X], HEIGHT, rows.rows.first) + image;
    uint8_t *to = pixel(&operands[Y], n, oh, out->origin[WIDTH]);
    int32_t left = out->origin[WIDTH] * a->strides[1] - a->pads[1];

    for (int32_t j = out->extent[WIDTH]; j > 0; j--) {
        rows.columns = columns_at(in, left, a->kernel[1], a->dilations[1]);
        const ptrdiff_t column =
            (ptrdiff_t)(rows.columns.first - in->origin[WIDTH]) * in->stride[WIDTH];
        maximum(&rows, a->largest, line + column, image + column, out, to);
        left += a->strides[1];
        to += out->stride[WIDTH];
    }
}

/* Adds a sum to a partial result of two bytes or four, which it begins with the first rows. */
static int32_t added(uint8_t *partial, int32_t bytes, uint32_t flags, int32_t sum)
{
    if (bytes == 2) {
        int16_t *held = (int16_t *)(void *)partial;
        sum += (flags & TILEWRIGHT_FIRST) == 0 ? *held : 0;
        *held = (int16_t)sum;
        return sum;
    }
    int32_t *held = (int32_t *)(void *)partial;
    sum += (flags & TILEWRIGHT_FIRST) == 0 ? *held : 0;
    *held = sum;
    return sum;
}

/* What average poolings have in common; pointers are to fields of their attributes. */
struct averages {
    const int32_t *kernel, *strides, *dilations, *pads, *counted;
    int32_t flip;
    int32_t zero_point; /* of a byte ^ flip */
    int32_t minimum, maximum;
};

#define TILEWRIGHT_AVERAGES(a, x_zero_point)                                                       \
    {                                                                                              \
        .kernel = (a)->kernel, .strides = (a)->strides, .dilations = (a)->dilations,               \
        .pads = (a)->pads, .counted = (a)->counted, .flip = (a)->is_unsigned != 0 ? 0 : 128,       \
        .zero_point = (x_zero_point) + ((a)->is_unsigned != 0 ? 0 : 128), .minimum = (a)->minimum, \
        .maximum = (a)->maximum                                                                    \
    }

/* The average of `count` elements, given their sum, in units of y. */
typedef int32_t average_of(const void *attributes, int32_t sum, int32_t count);

/* The sums of up to four channels. */
TILEWRIGHT_INLINE void totals(const struct tilewright_pool_rows *w, const uint8_t *first,
                              ptrdiff_t offset, int32_t channels, int reads_words, int32_t *sums)
{
    const int32_t stride = w->x->shape->stride[CHANNEL];
    if (reads_words) {
        four_totals(w, first, offset, sums);
        return;
    }
    for (int32_t k = 0; k < channels; k++) {
        sums[k] = total(w, first + (ptrdiff_t)k * stride, offset + (ptrdiff_t)k * stride);
    }
}

/* Computes all channels of one pixel. Where calls have some rows each of the only window, all but
 * the last one only add to partial results. `product` is for whole windows; with a shift of 0 it
 * does not serve. Callers pass a constant for `average`. */
TILEWRIGHT_INLINE void average_pixel(const struct averages *given,
                                     struct tilewright_average_product product, average_of *average,
                                     const void *attributes, const struct tilewright_view *operands,
                                     uint32_t flags, int32_t n, int32_t oh, int32_t ow)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t top = oh * given->strides[0] - given->pads[0];
    const int32_t left = ow * given->strides[1] - given->pads[1];
    ptrdiff_t offset = (ptrdiff_t)n * in->stride[BATCH];
    const struct tilewright_pool_rows rows =
        window(&operands[X], top, left, given->kernel, given->dilations, given->flip, &offset);
    const int32_t count = taps_counted(top, left, given->kernel, given->dilations, given->counted);
    const int32_t zero = given->zero_point * rows.rows.taps * rows.columns.taps;
    const uint8_t *first = tilewright_row(&operands[X], HEIGHT, rows.rows.first) + offset;
    const int32_t taps = given->kernel[0] * given->kernel[1];
    const int reads_words = MOST_TAPS > 0 && has_words(&rows, first, taps);
    const int is_whole = TAKES_PRODUCTS && product.shift != 0 && count == taps;
    const int32_t minimum = given->minimum;
    const int32_t maximum = given->maximum;
    const int32_t step = out->stride[CHANNEL];
    uint8_t *to = pixel(&operands[Y], n, oh, ow);
    uint8_t *partial = NULL;
    int32_t bytes = 0;
    int32_t sums[TOGETHER];

    if (flags != TILEWRIGHT_WHOLE) {
        bytes = taps <= TILEWRIGHT_POOL_SHORT_TAPS ? 2 : 4;
        partial = operands[PARTIAL].base + (ptrdiff_t)n * out->extent[CHANNEL] * bytes;
    }
    for (int32_t c = 0; c < out->extent[CHANNEL]; c += TOGETHER) {
        const int32_t some = tilewright_smaller(out->extent[CHANNEL] - c, TOGETHER);
        totals(&rows, first, offset, some, reads_words, sums);
        first += TOGETHER * (ptrdiff_t)in->stride[CHANNEL];
        offset += TOGETHER * (ptrdiff_t)in->stride[CHANNEL];
        for (int32_t k = 0; k < some; k++) {
            int32_t sum = sums[k] - zero;
            if (partial != NULL) {
                sum = added(partial, bytes, flags, sum);
                partial += bytes;
                if ((flags & TILEWRIGHT_LAST) == 0) {
                    continue;
                }
            }
            const int32_t value = is_whole ? tilewright_average_rounded(sum, product)
                                           : average(attributes, sum, count);
            *to = (uint8_t)(value < minimum ? minimum : value > maximum ? maximum : value);
            to += step;
        }
    }
}

static int32_t rounded_to_even(const void *attributes, int32_t sum, int32_t count)
{
    const struct tilewright_average_pool_integer_attributes *a = attributes;
    return tilewright_average_divided((int64_t)(sum * (1 << a->left)) * a->multiplier, a->shift,
                                      count) +
           a->zero_point;
}

static int32_t rounded_away(const void *attributes, int32_t sum, int32_t count)
{
    (void)attributes;
    return (sum + (sum > 0 ? count / 2 : -(count / 2))) / count;
}

TILEWRIGHT_INLINE void average_pixels(const struct averages *given,
                                      struct tilewright_average_product product,
                                      average_of *average, const void *attributes,
                                      const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *out = operands[Y].shape;
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        for (int32_t i = 0; i < out->extent[HEIGHT]; i++) {
            for (int32_t j = 0; j < out->extent[WIDTH]; j++) {
                average_pixel(given, product, average, attributes, operands, flags, n,
                              out->origin[HEIGHT] + i, out->origin[WIDTH] + j);
            }
        }
    }
}

void tilewright_max_pool_integer(const struct tilewright_max_pool_integer_attributes *attributes,
                                 const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *out = operands[Y].shape;
    (void)flags;
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        for (int32_t i = 0; i < out->extent[HEIGHT]; i++) {
            maximum_row(attributes, operands, n, out->origin[HEIGHT] + i);
        }
    }
}

void tilewright_average_pool_integer(
    const struct tilewright_average_pool_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    const struct averages given = TILEWRIGHT_AVERAGES(attributes, attributes->x_zero_point);
    const struct tilewright_average_product whole = {
        (uint32_t)attributes->whole_multiplier, (uint32_t)attributes->whole_addend,
        attributes->whole_shift, attributes->whole_half, attributes->zero_point};
    average_pixels(&given, whole, rounded_to_even, attributes, operands, flags);
}

/* Of stored integers: sums of the taps in x over their number, rounded half away from zero. */
void tilewright_average_pool_away(const struct tilewright_average_pool_away_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    const struct averages given = TILEWRIGHT_AVERAGES(attributes, 0);
    const struct tilewright_average_product none = {0};
    average_pixels(&given, none, rounded_away, attributes, operands, flags);
}
