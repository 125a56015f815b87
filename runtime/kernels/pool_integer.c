/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/byte_taps.h"
#include "tilewright/kernels/integer_core.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

enum { X, Y, PARTIAL };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };

/* Taps of a window on one axis. */
struct span {
    int32_t first; /* position of the first tap */
    int32_t taps;
    int32_t dilation;
};

/* Visits the bytes of a window one row after the other. */
struct rows {
    const struct tilewright_view *x;
    struct span rows, columns;
    ptrdiff_t step, pitch; /* from tap to tap in a row and from row to row */
    int32_t flip; /* 128 for int8: byte ^ 128 has the order of the int8 values; 0 for uint8 */
};

TILEWRIGHT_INLINE const uint8_t *row_at(const struct rows *w, const uint8_t *first,
                                        ptrdiff_t offset, int32_t i)
{
    return w->x->shape->ring_rows == 0
               ? first + i * w->pitch
               : tilewright_row(w->x, HEIGHT, w->rows.first + i * w->rows.dilation) + offset;
}

#if defined(__ARM_FEATURE_MVE)
/* clang-format off */
#define TILEWRIGHT_FOLD_LINE(fold)                                                                 \
    __asm__ volatile("wlstp.16 lr, %[count], 2f\n"                                                 \
                     "1:\n"                                                                        \
                     "vldrb.u16 q0, [%[at], %q[places]]\n"                                         \
                     "veor q0, q0, %q[flips]\n"                                                    \
                     fold " %[result], q0\n"                                                       \
                     "add %[at], %[at], %[eight]\n"                                                \
                     "letp lr, 1b\n"                                                               \
                     "2:\n"                                                                        \
                     : [result] "+Te"(result), [at] "+r"(at)                                       \
                     : [count] "r"(taps), [places] "w"(places), [flips] "w"(flips),                \
                       [eight] "r"(8 * step)                                                       \
                     : "lr", "memory", "q0")
/* clang-format on */
#endif

/* The largest of `result` and all byte ^ flip of a line of the window, or their sum. */
TILEWRIGHT_INLINE int32_t fold_line(int32_t result, const uint8_t *at, ptrdiff_t step, int32_t taps,
                                    int32_t flip, const int is_sum)
{
#if defined(__ARM_FEATURE_MVE)
    /* Strides for which 16-bit offsets reach the last of eight bytes. */
    if (step >= 0 && step <= UINT16_MAX / 7) {
        const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);
        const uint16x8_t flips = vdupq_n_u16((uint16_t)flip);
        if (is_sum) {
            TILEWRIGHT_FOLD_LINE("vaddva.u16");
        } else {
            TILEWRIGHT_FOLD_LINE("vmaxv.u16");
        }
        return result;
    }
#endif
    for (; taps > 0; taps--) {
        const int32_t value = *at ^ flip;
        if (is_sum) {
            result += value;
        } else if (value > result) {
            result = value;
        }
        at += step;
    }
    return result;
}

/* The largest of all byte ^ flip in the window, or their sum. */
TILEWRIGHT_INLINE int32_t folded(const struct rows *w, const uint8_t *first, ptrdiff_t offset,
                                 const int is_sum)
{
    const ptrdiff_t step = w->step;
    const int32_t flip = w->flip;
    int32_t result = 0;
#if defined(__ARM_FEATURE_MVE)
    if (w->x->shape->ring_rows == 0 && w->pitch == w->columns.taps * step) {
        return fold_line(0, first, step, w->rows.taps * w->columns.taps, flip, is_sum);
    }
#endif
    for (int32_t i = 0; i < w->rows.taps; i++) {
        result =
            fold_line(result, row_at(w, first, offset, i), step, w->columns.taps, flip, is_sum);
    }
    return result;
}

static TILEWRIGHT_NOINLINE int32_t largest(const struct rows *w, const uint8_t *first,
                                           ptrdiff_t offset)
{
    return folded(w, first, offset, 0) ^ w->flip;
}

/* The sum of all byte ^ flip: for int8 128 more per element than the sum of the elements. */
static TILEWRIGHT_NOINLINE int32_t total(const struct rows *w, const uint8_t *first,
                                         ptrdiff_t offset)
{
    return folded(w, first, offset, 1);
}

/* The taps that lie in [lower, upper). */
static struct span clip(int32_t start, int32_t taps, int32_t dilation, int32_t lower, int32_t upper)
{
    struct span span = {start, taps, dilation};
    while (span.taps > 0 && span.first < lower) {
        span.first += dilation;
        span.taps--;
    }
    while (span.taps > 0 && span.first + (span.taps - 1) * dilation >= upper) {
        span.taps--;
    }
    return span;
}

static struct span held(const struct tilewright_shape *shape, int32_t axis, int32_t start,
                        int32_t taps, int32_t dilation)
{
    return clip(start, taps, dilation, shape->origin[axis],
                shape->origin[axis] + shape->extent[axis]);
}

/* product / (2^(32 + shift) * count), rounded half to even; shift from 1 to 30.
 *
 * The floor of the result is `quotient` = floor(whole / count), whole = floor(product / 2^(32 +
 * shift)). The fraction depends on `remainder` of that division and on the bits that the shift
 * drops: `bits` of the product's upper word, and `low`, its lower word. The fraction is above, at
 * or below 1/2 as (2 * remainder - count) * 2^shift + 2 * (bits + low / 2^32)   is above, at or
 * below 0. */
static int32_t divided(int64_t product, int32_t shift, int32_t count)
{
    const int32_t high = (int32_t)(product >> 32);
    const uint32_t low = (uint32_t)product;
    const uint32_t bits = (uint32_t)high & ((1u << shift) - 1u);
    const uint32_t half = 1u << (shift - 1);
    const int32_t whole = high >> shift;
    int32_t quotient = whole / count;
    int32_t remainder = whole % count;
    if (remainder < 0) {
        remainder += count;
        quotient--;
    }
    /* 2 * (bits + low / 2^32) is below 2 * 2^shift, so it decides only if 2 * remainder - count is
     * 0 or -1: then bits + low / 2^32 is compared with 0 or 2^shift / 2. */
    const int32_t twice = 2 * remainder - count;
    if (twice > 0 || twice < -1) {
        return quotient + (twice > 0);
    }
    const uint32_t threshold = twice == 0 ? 0 : half;
    if (bits != threshold || low != 0) {
        return quotient + (bits >= threshold);
    }
    return quotient + (quotient & 1);
}

/* The taps in x of the window whose first tap, padding included, is at (top, left). *offset becomes
 * the bytes to the first column of these taps. */
static struct rows window(const struct tilewright_view *x, int32_t top, int32_t left,
                          const int32_t *kernel, const int32_t *dilations, int32_t flip,
                          ptrdiff_t *offset)
{
    const struct tilewright_shape *shape = x->shape;
    struct rows rows = {x,
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
TILEWRIGHT_INLINE struct span columns_at(const struct tilewright_shape *shape, int32_t left,
                                         int32_t taps, int32_t dilation)
{
    const int32_t before = left - shape->origin[WIDTH];
    if (before >= 0 && before + (taps - 1) * dilation < shape->extent[WIDTH]) {
        const struct span whole = {left, taps, dilation};
        return whole;
    }
    return held(shape, WIDTH, left, taps, dilation);
}

/* Stores the largest elements of all channels of one pixel at `to`. `first` is the window's first
 * tap in channel 0, `offset` bytes behind the row that it lies in; `beside` is for channels side by
 * side. */
static void maximum(const struct rows *rows, tilewright_largest_bytes *beside, const uint8_t *first,
                    ptrdiff_t offset, const struct tilewright_shape *out, uint8_t *to)
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
    struct rows rows = {
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

/* Computes all channels of one pixel of an average pooling. Where calls have some rows each of the
 * only window, all but the last one only add to partial results. */
static void average(const struct tilewright_average_pool_integer_attributes *a,
                    const struct tilewright_view *operands, uint32_t flags, int32_t n, int32_t oh,
                    int32_t ow)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t top = oh * a->strides[0] - a->pads[0];
    const int32_t left = ow * a->strides[1] - a->pads[1];
    const int32_t flip = a->is_unsigned != 0 ? 0 : 128;
    ptrdiff_t offset = (ptrdiff_t)n * in->stride[BATCH];
    const struct rows rows =
        window(&operands[X], top, left, a->kernel, a->dilations, flip, &offset);
    const int32_t count = taps_counted(top, left, a->kernel, a->dilations, a->counted);
    const int32_t zero = (a->x_zero_point + flip) * rows.rows.taps * rows.columns.taps;
    const uint8_t *first = tilewright_row(&operands[X], HEIGHT, rows.rows.first) + offset;
    uint8_t *to = pixel(&operands[Y], n, oh, ow);
    uint8_t *partial = NULL;
    int32_t bytes = 0;

    if (flags != TILEWRIGHT_WHOLE) {
        bytes = a->kernel[0] * a->kernel[1] <= TILEWRIGHT_POOL_SHORT_TAPS ? 2 : 4;
        partial = operands[PARTIAL].base + (ptrdiff_t)n * out->extent[CHANNEL] * bytes;
    }
    for (int32_t c = out->extent[CHANNEL]; c > 0; c--) {
        int32_t sum = total(&rows, first, offset) - zero;
        first += in->stride[CHANNEL];
        offset += in->stride[CHANNEL];
        if (partial != NULL) {
            sum = added(partial, bytes, flags, sum);
            partial += bytes;
            if ((flags & TILEWRIGHT_LAST) == 0) {
                continue;
            }
        }
        sum *= 1 << a->left;
        const int32_t value =
            divided((int64_t)sum * a->multiplier, a->shift, count) + a->zero_point;
        *to = (uint8_t)(value < a->minimum ? a->minimum : value > a->maximum ? a->maximum : value);
        to += out->stride[CHANNEL];
    }
}

/* Computes all channels of one pixel of an average pooling of stored integers: sums of the taps in
 * x over their number, rounded half away from zero. */
static void average_away(const struct tilewright_average_pool_away_attributes *a,
                         const struct tilewright_view *operands, uint32_t flags, int32_t n,
                         int32_t oh, int32_t ow)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t top = oh * a->strides[0] - a->pads[0];
    const int32_t left = ow * a->strides[1] - a->pads[1];
    const int32_t flip = a->is_unsigned != 0 ? 0 : 128;
    ptrdiff_t offset = (ptrdiff_t)n * in->stride[BATCH];
    const struct rows rows =
        window(&operands[X], top, left, a->kernel, a->dilations, flip, &offset);
    const int32_t count = taps_counted(top, left, a->kernel, a->dilations, a->counted);
    const int32_t zero = flip * rows.rows.taps * rows.columns.taps;
    const uint8_t *first = tilewright_row(&operands[X], HEIGHT, rows.rows.first) + offset;
    uint8_t *to = pixel(&operands[Y], n, oh, ow);
    uint8_t *partial = NULL;
    int32_t bytes = 0;

    if (flags != TILEWRIGHT_WHOLE) {
        bytes = a->kernel[0] * a->kernel[1] <= TILEWRIGHT_POOL_SHORT_TAPS ? 2 : 4;
        partial = operands[PARTIAL].base + (ptrdiff_t)n * out->extent[CHANNEL] * bytes;
    }
    for (int32_t c = out->extent[CHANNEL]; c > 0; c--) {
        int32_t sum = total(&rows, first, offset) - zero;
        first += in->stride[CHANNEL];
        offset += in->stride[CHANNEL];
        if (partial != NULL) {
            sum = added(partial, bytes, flags, sum);
            partial += bytes;
            if ((flags & TILEWRIGHT_LAST) == 0) {
                continue;
            }
        }
        const int32_t value = (sum + (sum > 0 ? count / 2 : -(count / 2))) / count;
        *to = (uint8_t)(value < a->minimum ? a->minimum : value > a->maximum ? a->maximum : value);
        to += out->stride[CHANNEL];
    }
}

/* The loops over pixels of all kernels; a macro, because a function pointer would cost more code
 * than it saves. */
#define TILEWRIGHT_FOR_EACH_PIXEL(function)                                                        \
    do {                                                                                           \
        const struct tilewright_shape *out = operands[Y].shape;                                    \
        for (int32_t n = 0; n < out->extent[BATCH]; n++) {                                         \
            for (int32_t i = 0; i < out->extent[HEIGHT]; i++) {                                    \
                for (int32_t j = 0; j < out->extent[WIDTH]; j++) {                                 \
                    function(attributes, operands, flags, n, out->origin[HEIGHT] + i,              \
                             out->origin[WIDTH] + j);                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)

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
    TILEWRIGHT_FOR_EACH_PIXEL(average);
}

void tilewright_average_pool_away(const struct tilewright_average_pool_away_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    TILEWRIGHT_FOR_EACH_PIXEL(average_away);
}
