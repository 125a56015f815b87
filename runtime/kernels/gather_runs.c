/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the taps of a few pixels, for families that multiply them side by side. */
#include "tilewright/kernels/gather_runs.h"

#include "tilewright/kernels/dsp.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

enum { BATCH, CHANNEL, HEIGHT, WIDTH };
enum { LANES = 8 }; /* 16-bit offsets of a vector */

#if defined(__ARM_FEATURE_MVE)

TILEWRIGHT_INLINE uint8_t *copy_bytes(uint8_t *out, const uint8_t *from, int32_t count)
{
    uint8_t *to = out;
    __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%[from]], #16\n"
                     "vstrb.8 q0, [%[to]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [from] "+r"(from), [to] "+r"(to)
                     : [count] "r"(count)
                     : "lr", "memory", "q0");
    return out + count;
}

TILEWRIGHT_INLINE uint8_t *fill_bytes(uint8_t *out, uint8_t byte, int32_t count)
{
    uint8_t *to = out;
    __asm__ volatile("vdup.8 q0, %[byte]\n"
                     "wlstp.8 lr, %[count], 2f\n"
                     "1:\n"
                     "vstrb.8 q0, [%[to]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [to] "+r"(to)
                     : [count] "r"(count), [byte] "r"(byte)
                     : "lr", "memory", "q0");
    return out + count;
}

TILEWRIGHT_INLINE void flip_bytes(uint8_t *bytes, uint8_t flip, int32_t count)
{
    __asm__ volatile("vdup.8 q1, %[flip]\n"
                     "wlstp.8 lr, %[count], 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%[bytes]]\n"
                     "veor q0, q0, q1\n"
                     "vstrb.8 q0, [%[bytes]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [bytes] "+r"(bytes)
                     : [count] "r"(count), [flip] "r"(flip)
                     : "lr", "memory", "q0", "q1");
}

/* Copies rows of `count` bytes, `stride` bytes apart, each byte ^ flip. */
static TILEWRIGHT_NOINLINE void copy_rows(uint8_t *out, const uint8_t *from, int32_t stride,
                                          int32_t count, int32_t rows, uint8_t flip)
{
    const uint8x16_t flips = vdupq_n_u8(flip);
    do {
        const uint8_t *x = from;
        uint8_t *to = out;
        __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                         "1:\n"
                         "vldrb.8 q0, [%[x]], #16\n"
                         "veor q0, q0, %q[flips]\n"
                         "vstrb.8 q0, [%[to]], #16\n"
                         "letp lr, 1b\n"
                         "2:\n"
                         : [x] "+r"(x), [to] "+r"(to)
                         : [count] "r"(count), [flips] "w"(flips)
                         : "lr", "memory", "q0");
        from += stride;
        out += count;
    } while (--rows != 0);
}

/* Copies rows of `count` bytes, at most TILEWRIGHT_GATHERED_MOST, that lie at `places` from the
 * row's first one; the rows are `stride` bytes apart, each byte ^ flip. */
static TILEWRIGHT_NOINLINE void gather_rows(uint8_t *out, const uint8_t *from, int32_t stride,
                                            int32_t count, int32_t rows, uint8_t flip,
                                            const uint16_t *places)
{
    const uint16x8_t flips = vdupq_n_u16(flip);
    const uint16x8_t first = vldrhq_u16(places), second = vldrhq_u16(places + LANES);
    const mve_pred16_t held = vctp16q((uint32_t)count);
    const mve_pred16_t more = vctp16q((uint32_t)(count < LANES ? 0 : count - LANES));
    do {
        vstrbq_p_u16(out, veorq_u16(vldrbq_gather_offset_z_u16(from, first, held), flips), held);
        if (count > LANES) {
            vstrbq_p_u16(out + LANES,
                         veorq_u16(vldrbq_gather_offset_z_u16(from, second, more), flips), more);
        }
        from += stride;
        out += count;
    } while (--rows != 0);
}

#else

#if defined(__ARM_FEATURE_DSP)

/* Words, then the last three bytes without a loop: of a loop over bytes compilers make a call of
 * memmove. */
TILEWRIGHT_INLINE uint8_t *copy_bytes(uint8_t *restrict out, const uint8_t *restrict from,
                                      int32_t count)
{
    for (int32_t left = count / 4; left > 0; left--) {
        tilewright_store_word(out, tilewright_dsp_load(from));
        out += 4;
        from += 4;
    }
    if ((count & 2) != 0) {
        *(tilewright_half_word *)(void *)out = *(const tilewright_half_word *)(const void *)from;
        out += 2;
        from += 2;
    }
    if ((count & 1) != 0) {
        *out++ = *from;
    }
    return out;
}

#else

TILEWRIGHT_INLINE uint8_t *copy_bytes(uint8_t *restrict out, const uint8_t *restrict from,
                                      int32_t count)
{
    for (; count > 0; count--) {
        *out++ = *from++;
    }
    return out;
}

#endif

TILEWRIGHT_INLINE uint8_t *fill_bytes(uint8_t *out, uint8_t byte, int32_t count)
{
    for (; count > 0; count--) {
        *out++ = byte;
    }
    return out;
}

TILEWRIGHT_INLINE void flip_bytes(uint8_t *bytes, uint8_t flip, int32_t count)
{
    for (; count > 0; count--) {
        *bytes++ ^= flip;
    }
}

static TILEWRIGHT_NOINLINE void copy_rows(uint8_t *out, const uint8_t *from, int32_t stride,
                                          int32_t count, int32_t rows, uint8_t flip)
{
    do {
        uint8_t *const first = out;
        out = copy_bytes(out, from, count);
        if (flip != 0) {
            flip_bytes(first, flip, count);
        }
        from += stride;
    } while (--rows != 0);
}

static TILEWRIGHT_NOINLINE void gather_rows(uint8_t *out, const uint8_t *from, int32_t stride,
                                            int32_t count, int32_t rows, uint8_t flip,
                                            const uint16_t *places)
{
    do {
        for (int32_t i = 0; i < count; i++) {
            *out++ = from[places[i]] ^ flip;
        }
        from += stride;
    } while (--rows != 0);
}

#endif

static TILEWRIGHT_NOINLINE uint8_t *gather_taps(const struct tilewright_runs_conv *conv,
                                                const uint8_t *from, int32_t column, uint8_t *out)
{
    const struct tilewright_conv_runs_attributes *a = conv->attributes;
    const struct tilewright_shape *shape = conv->x->shape;
    for (int32_t kw = 0; kw < a->kernel[1]; kw++) {
        const int32_t tap = kw * a->dilations[1];
        const int32_t inside = (uint32_t)(column + tap) < (uint32_t)shape->extent[WIDTH];
        const uint8_t *x = from + (ptrdiff_t)tap * shape->stride[WIDTH];
        for (int32_t c = 0; c < conv->inputs; c++) {
            *out++ = inside != 0 ? *x : (uint8_t)a->padding;
            x += shape->stride[CHANNEL];
        }
    }
    return out;
}

static TILEWRIGHT_NOINLINE void gather_pixel(const struct tilewright_runs_job *job, int32_t p,
                                             uint8_t *out)
{
    /* Copies stay in registers: the compiler knows that stores of bytes do not change them. */
    const struct tilewright_gather *gather = job->gather;
    const struct tilewright_runs_conv *conv = gather->conv;
    const struct tilewright_conv_runs_attributes *a = conv->attributes;
    const struct tilewright_shape *shape = conv->x->shape;
    const int32_t column = gather->pixels->column[p];
    const int32_t inputs = conv->inputs, columns = a->kernel[1], row_taps = conv->row_taps;
    /* Bytes of a row of the kernel before x, within x and behind x. */
    const int32_t before = (column >= 0 ? 0 : tilewright_smaller(-column, columns)) * inputs;
    const int32_t until = tilewright_smaller(shape->extent[WIDTH] - column, columns) * inputs;
    const int32_t held = until > before ? until - before : 0;
    const int32_t behind = columns * inputs - before - held;
    const int32_t ring = shape->ring_rows != 0 && shape->ring_axis == HEIGHT ? shape->ring_rows : 0;
    const int32_t first = shape->origin[HEIGHT], stride = shape->stride[HEIGHT];
    const uint32_t rows = (uint32_t)shape->extent[HEIGHT];
    const int32_t dilation = a->dilations[0];
    const uint8_t padding = (uint8_t)a->padding;
    const uint8_t *base =
        conv->x->base + gather->offset + (ptrdiff_t)column * shape->stride[WIDTH] + before;
    int32_t row = gather->pixels->row[p];

    for (int32_t left = a->kernel[0]; left > 0; left--) {
        if ((uint32_t)(row - first) >= rows) {
            out = fill_bytes(out, padding, before + held + behind);
        } else {
            const int32_t slot = ring != 0 ? row % ring : row - first;
            const uint8_t *from = base + (ptrdiff_t)slot * stride;
            if (row_taps == 0) {
                out = gather_taps(conv, from - before, column, out);
            } else {
                out = before == 0 ? out : fill_bytes(out, padding, before);
                out = copy_bytes(out, from, held);
                out = behind == 0 ? out : fill_bytes(out, padding, behind);
            }
        }
        row += dilation;
    }
}

/* Copies `rows` rows of the kernel, which lie one behind the other. */
TILEWRIGHT_INLINE void copy_taps(const struct tilewright_runs_conv *conv, const uint8_t *from,
                                 int32_t rows, uint8_t *out, uint8_t flip)
{
    const int32_t down = conv->attributes->dilations[0] * conv->x->shape->stride[HEIGHT];
    if (conv->row_taps != 0) {
        copy_rows(out, from, down, conv->count, rows, flip);
    } else {
        gather_rows(out, from, down, conv->count, rows, flip, conv->places);
    }
}

/* Copies the rows of a pixel that goes over the end of x's ring; the first one is row `slot`. */
static TILEWRIGHT_NOINLINE void copy_around(const struct tilewright_runs_conv *conv,
                                            const uint8_t *from, int32_t slot, uint8_t *out,
                                            uint8_t flip)
{
    const int32_t dilation = conv->attributes->dilations[0], ring = conv->ring;
    const int32_t rows = (ring - slot + dilation - 1) / dilation;
    const int32_t back = rows * dilation - ring;
    copy_taps(conv, from, rows, out, flip);
    copy_taps(conv, from + (ptrdiff_t)back * conv->x->shape->stride[HEIGHT],
              conv->attributes->kernel[0] - rows, out + rows * conv->count, flip);
}

TILEWRIGHT_INLINE void copy_pixel(const struct tilewright_runs_job *job, int32_t p, uint8_t *out,
                                  uint8_t flip)
{
    const struct tilewright_gather *gather = job->gather;
    const struct tilewright_runs_conv *conv = gather->conv;
    const struct tilewright_shape *shape = conv->x->shape;
    const int32_t reach = conv->reach, ring = conv->ring;
    const uint32_t held = conv->held;
    const int32_t column = gather->pixels->column[p];
    const uint32_t row = (uint32_t)(gather->pixels->row[p] - shape->origin[HEIGHT]);
    const int32_t slot = ring != 0 ? gather->pixels->row[p] % ring : (int32_t)row;
    const uint8_t *from = conv->x->base + gather->offset + (ptrdiff_t)slot * shape->stride[HEIGHT] +
                          (ptrdiff_t)column * shape->stride[WIDTH];

    if (row >= held || row + (uint32_t)reach >= held ||
        (uint32_t)column >= (uint32_t)conv->inside) {
        gather_pixel(job, p, out);
        if (flip != 0) {
            flip_bytes(out, flip, conv->count * conv->attributes->kernel[0]);
        }
    } else if (ring != 0 && slot + reach >= ring) {
        copy_around(conv, from, slot, out, flip);
    } else {
        copy_taps(conv, from, conv->attributes->kernel[0], out, flip);
    }
}

/* Copies the pixels before `end`, of kernels of one row, in one go, where they lie in one row of x
 * and as far from each other as the first two. Returns 0 where they do not. */
TILEWRIGHT_INLINE int32_t copy_line(const struct tilewright_gather *gather, int32_t end,
                                    uint8_t *out, uint8_t flip)
{
    const struct tilewright_runs_conv *conv = gather->conv;
    const struct tilewright_runs_pixels *pixels = gather->pixels;
    const struct tilewright_shape *shape = conv->x->shape;
    const int32_t row = pixels->row[0], column = pixels->column[0], ring = conv->ring;
    const int32_t step = pixels->column[1] - column, last = pixels->column[end - 1];
    const int32_t slot = ring != 0 ? row % ring : row - shape->origin[HEIGHT];
    const uint32_t inside = (uint32_t)conv->inside;
    if (pixels->row[end - 1] != row || last - column != (end - 1) * step ||
        (uint32_t)(row - shape->origin[HEIGHT]) >= conv->held || (uint32_t)column >= inside ||
        (uint32_t)last >= inside) {
        return 0;
    }
    copy_rows(out,
              conv->x->base + gather->offset + (ptrdiff_t)slot * shape->stride[HEIGHT] +
                  (ptrdiff_t)column * shape->stride[WIDTH],
              step * shape->stride[WIDTH], conv->row_taps, end, flip);
    return 1;
}

void tilewright_gather_pixels(const struct tilewright_runs_job *job, int32_t first, int32_t end,
                              uint8_t *out, int32_t step, uint8_t flip)
{
    const struct tilewright_runs_conv *conv = job->gather->conv;
    if (conv->attributes->kernel[0] == 1 && step == conv->row_taps && first == 0 && end > 1 &&
        copy_line(job->gather, end, out, flip) != 0) {
        return;
    }
    for (int32_t p = first; p < end; p++) {
        copy_pixel(job, p, out, flip);
        out += step;
    }
}

/* Lists the offsets of a row's taps, where these are few and lie near each other. */
static void list_places(struct tilewright_runs_conv *conv, const struct tilewright_shape *shape)
{
    const int32_t columns = conv->attributes->kernel[1], inputs = conv->inputs;
    const int32_t step = conv->attributes->dilations[1] * shape->stride[WIDTH];
    const int32_t apart = shape->stride[CHANNEL];
    if (columns * inputs > TILEWRIGHT_GATHERED_MOST || (uint32_t)step > UINT16_MAX ||
        (uint32_t)apart > UINT16_MAX ||
        (columns - 1) * step + (inputs - 1) * apart > (int32_t)UINT16_MAX) {
        return;
    }
    conv->is_gathered = 1;
    for (int32_t i = 0; i < columns * inputs; i++) {
        conv->places[i] = (uint16_t)(i / inputs * step + i % inputs * apart);
    }
}

void tilewright_prepare_gather(struct tilewright_runs_conv *conv)
{
    const struct tilewright_conv_runs_attributes *a = conv->attributes;
    const struct tilewright_shape *shape = conv->x->shape;
    conv->count = a->kernel[1] * conv->inputs;
    conv->reach = (a->kernel[0] - 1) * a->dilations[0];
    conv->ring = shape->ring_axis == HEIGHT ? shape->ring_rows : 0;
    if (conv->row_taps == 0) {
        list_places(conv, shape);
    }
    if ((conv->row_taps | conv->is_gathered) != 0 && (conv->ring == 0 || conv->reach >= 0)) {
        conv->held = (uint32_t)shape->extent[HEIGHT];
    }
}
