/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution with the vectors of Cortex-M55: the padded window of a channel is copied
 * whole, then a vector gathers all taps of an element of y, four elements are finished together.
 * Without these instructions the same in plain C. */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/depthwise_window.h"
#include "tilewright/kernels/integer_rules.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };
enum { LANES = 16, TOGETHER = 4 };

/* Lines of y along one axis, whose elements are computed one after the other. The assembler knows
 * the order of the fields. */
struct tilewright_depthwise_lines {
    const int8_t *x; /* the first tap of the first element */
    uint8_t *y;
    int32_t x_line, y_line; /* bytes from line to line */
    int32_t x_step;         /* bytes from element to element */
    int32_t y_together;     /* bytes from four elements to the next four */
    int32_t bias, addend;
    int32_t shift;  /* to the left, so below 0 or 0 */
    int32_t groups; /* of four elements in a line */
    int32_t x_back; /* bytes back to the first of the last four elements; 0: groups cover all */
    int32_t y_back;
    int32_t lines;
    int32_t multiplier, minimum, maximum;
    uint8_t offsets[LANES]; /* of the taps */
    int8_t weights[LANES];
    int32_t places[TOGETHER]; /* of four elements of y */
};

/* The window of a channel: its lines lie one behind the other, `pitch` bytes apart. */
struct window {
    struct tilewright_depthwise_axis along, across;
    int32_t axis, other; /* of x and y: that of lines, and the other one */
    int32_t pitch;
    int8_t *bytes;
    int32_t flip; /* 128 for uint8, else 0 */
};

#if defined(__ARM_FEATURE_MVE)

/* clang-format off */
#define TILEWRIGHT_COPY_LINE(flipped)                                                              \
    __asm__ volatile("wlstp.16 lr, %[count], 2f\n"                                                 \
                     "1:\n"                                                                        \
                     "vldrb.u16 q0, [%[from], %q[places]]\n"                                       \
                     flipped                                                                       \
                     "vstrb.16 q0, [%[to]], #8\n"                                                  \
                     "add %[from], %[from], %[eight]\n"                                            \
                     "letp lr, 1b\n"                                                               \
                     "2:\n"                                                                        \
                     : [from] "+r"(from), [to] "+r"(to)                                            \
                     : [count] "r"(count), [places] "w"(places), [flips] "w"(flips),               \
                       [eight] "r"(8 * stride)                                                     \
                     : "lr", "memory", "q0")
/* clang-format on */

/* Copies `count` bytes that are `stride` bytes apart. */
TILEWRIGHT_INLINE void copy_line(int8_t *to, const uint8_t *from, int32_t stride, int32_t count,
                                 int32_t flip)
{
    const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)stride);
    const uint16x8_t flips = vdupq_n_u16((uint16_t)flip);
    if (flip == 0) {
        TILEWRIGHT_COPY_LINE("");
    } else {
        TILEWRIGHT_COPY_LINE("veor q0, q0, %q[flips]\n");
    }
}

/* clang-format off */
/* Sums of four elements; r1 the taps of the first one, q2 their offsets, q3 their weights. */
#define TILEWRIGHT_MVE_FOUR_SUMS                                                                   \
    "vldrb.u8 q0, [r1, q2]\n"                                                                      \
    "add r1, r1, r5\n"                                                                             \
    "vldrb.u8 q1, [r1, q2]\n"                                                                      \
    "vmladav.s8 r0, q0, q3\n"                                                                      \
    "add r1, r1, r5\n"                                                                             \
    "vldrb.u8 q0, [r1, q2]\n"                                                                      \
    "vmladav.s8 r2, q1, q3\n"                                                                      \
    "add r1, r1, r5\n"                                                                             \
    "vldrb.u8 q1, [r1, q2]\n"                                                                      \
    "vmladav.s8 r4, q0, q3\n"                                                                      \
    "add r1, r1, r5\n"                                                                             \
    "vmladav.s8 r6, q1, q3\n"                                                                      \
    "vmov q1[2], q1[0], r0, r4\n"                                                                  \
    "vmov q1[3], q1[1], r2, r6\n"

#define TILEWRIGHT_MVE_FOUR_STORED                                                                 \
    "vshl.s32 q1, r10\n"                                                                           \
    "vmax.s32 q1, q1, q5\n"                                                                        \
    "vmin.s32 q1, q1, q6\n"                                                                        \
    "vstrb.32 q1, [r3, q7]\n"                                                                      \
    "add r3, r3, r7\n"

#define TILEWRIGHT_MVE_LINES(rule)                                                                 \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                                                \
    "vpush {d8, d9, d10, d11, d12, d13, d14, d15}\n"                                               \
    "mov r12, r0\n"                                                                                \
    "ldrd r5, r7, [r12, #16]\n"                                                                    \
    "ldrd r8, r9, [r12, #24]\n"                                                                    \
    "ldr r10, [r12, #32]\n"                                                                        \
    "ldr r11, [r12, #48]\n"                                                                        \
    "ldrd r0, r2, [r12, #52]\n"                                                                    \
    "ldr r4, [r12, #60]\n"                                                                         \
    "vdup.32 q4, r0\n"                                                                             \
    "vdup.32 q5, r2\n"                                                                             \
    "vdup.32 q6, r4\n"                                                                             \
    "vldrw.32 q2, [r12, #64]\n"                                                                    \
    "vldrw.32 q3, [r12, #80]\n"                                                                    \
    "vldrw.32 q7, [r12, #96]\n"                                                                    \
    "1:\n"                                                                                         \
    "ldrd r1, r3, [r12]\n"                                                                         \
    "ldrd r0, r2, [r12, #8]\n"                                                                     \
    "ldr lr, [r12, #36]\n"                                                                         \
    "add r0, r0, r1\n"                                                                             \
    "add r2, r2, r3\n"                                                                             \
    "strd r0, r2, [r12]\n"                                                                         \
    "dls lr, lr\n"                                                                                 \
    "2:\n"                                                                                         \
    TILEWRIGHT_MVE_FOUR_SUMS                                                                       \
    rule                                                                                           \
    TILEWRIGHT_MVE_FOUR_STORED                                                                     \
    "le lr, 2b\n"                                                                                  \
    "ldrd r0, r2, [r12, #40]\n"                                                                    \
    "cbz r0, 3f\n"                                                                                 \
    "subs r1, r1, r0\n"                                                                            \
    "subs r3, r3, r2\n"                                                                            \
    TILEWRIGHT_MVE_FOUR_SUMS                                                                       \
    rule                                                                                           \
    TILEWRIGHT_MVE_FOUR_STORED                                                                     \
    "3:\n"                                                                                         \
    "subs r11, r11, #1\n"                                                                          \
    "bne 1b\n"                                                                                     \
    "vpop {d8, d9, d10, d11, d12, d13, d14, d15}\n"                                                \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

__attribute__((naked)) void
tilewright_depthwise_mve_high(__attribute__((unused)) struct tilewright_depthwise_lines *lines)
{
    __asm__(TILEWRIGHT_MVE_LINES(
        "vadd.i32 q1, q1, r8\n"
        "vmulh.s32 q1, q1, q4\n"
        "vadd.i32 q1, q1, r9\n"));
}

__attribute__((naked)) void
tilewright_depthwise_mve_folded(__attribute__((unused)) struct tilewright_depthwise_lines *lines)
{
    __asm__(TILEWRIGHT_MVE_LINES(
        "vmul.i32 q1, q1, q4\n"
        "vadd.i32 q1, q1, r9\n"));
}
/* clang-format on */

#else

TILEWRIGHT_INLINE void copy_line(int8_t *to, const uint8_t *from, int32_t stride, int32_t count,
                                 int32_t flip)
{
    for (; count > 0; count--) {
        *to++ = (int8_t)(*from ^ flip);
        from += stride;
    }
}

TILEWRIGHT_INLINE void four(const struct tilewright_depthwise_lines *lines, const int8_t *x,
                            uint8_t *y, const enum tilewright_rule_kind rule)
{
    const struct tilewright_limits limits = {lines->minimum, lines->maximum, 0, -lines->shift};
    struct tilewright_constants constants = {lines->multiplier, lines->addend, -lines->shift, 0, 0,
                                             {0, 0, 0}};
    for (int32_t i = 0; i < TOGETHER; i++) {
        int32_t sum = rule == TILEWRIGHT_RULE_FOLDED ? 0 : lines->bias;
        for (int32_t t = 0; t < LANES; t++) {
            sum += x[i * lines->x_step + lines->offsets[t]] * lines->weights[t];
        }
        tilewright_store_sum(y + lines->places[i], sum, constants, &limits, rule);
    }
}

TILEWRIGHT_INLINE void all(struct tilewright_depthwise_lines *lines,
                           const enum tilewright_rule_kind rule)
{
    for (int32_t left = lines->lines; left > 0; left--) {
        const int8_t *x = lines->x;
        uint8_t *y = lines->y;
        for (int32_t i = lines->groups; i > 0; i--) {
            four(lines, x, y, rule);
            x += TOGETHER * lines->x_step;
            y += lines->y_together;
        }
        if (lines->x_back != 0) {
            four(lines, x - lines->x_back, y - lines->y_back, rule);
        }
        lines->x += lines->x_line;
        lines->y += lines->y_line;
    }
}

void tilewright_depthwise_mve_high(struct tilewright_depthwise_lines *lines)
{
    all(lines, TILEWRIGHT_RULE_HIGH);
}

void tilewright_depthwise_mve_folded(struct tilewright_depthwise_lines *lines)
{
    all(lines, TILEWRIGHT_RULE_FOLDED);
}

#endif

#if defined(__ARM_FEATURE_MVE)

TILEWRIGHT_INLINE void set_weights(struct tilewright_depthwise_lines *lines, const int8_t *from,
                                   int32_t taps)
{
    vstrbq_s8(lines->weights, vldrbq_z_s8(from, vctp8q((uint32_t)taps)));
}

#else

TILEWRIGHT_INLINE void set_weights(struct tilewright_depthwise_lines *lines, const int8_t *from,
                                   int32_t taps)
{
    for (int32_t t = 0; t < LANES; t++) {
        lines->weights[t] = (int8_t)(t < taps ? from[t] : 0);
    }
}

#endif

/* Copies one channel's elements of x into the window, line by line. The padding around them is the
 * same for all channels, and is not written again. */
static void load(const struct window *window, const struct tilewright_view *x, ptrdiff_t offset)
{
    /* The largest stride for which 16-bit offsets reach the last of eight bytes. */
    enum { MOST_STRIDE = UINT16_MAX / 7 };
    const struct tilewright_shape *shape = x->shape;
    const int32_t count = window->along.held, flip = window->flip;
    const int32_t stride = shape->stride[window->axis], pitch = window->pitch;
    int32_t line = window->across.begin + window->across.first;
    int8_t *to = window->bytes + window->across.first * pitch + window->along.first;
    const ptrdiff_t skip = offset + (ptrdiff_t)(window->along.begin + window->along.first -
                                                shape->origin[window->axis]) *
                                        stride;

    for (int32_t left = count > 0 ? window->across.held : 0; left > 0; left--) {
        const uint8_t *from = tilewright_row(x, window->other, line) + skip;
        if ((uint32_t)stride <= MOST_STRIDE) {
            copy_line(to, from, stride, count, flip);
        } else {
            for (int32_t i = 0; i < count; i++) {
                to[i] = (int8_t)(from[(ptrdiff_t)i * stride] ^ flip);
            }
        }
        to += pitch;
        line++;
    }
}

/* Takes the axis of more elements for lines; that of rings stays across. */
static struct window open(const struct tilewright_depthwise_mve_attributes *a,
                          const struct tilewright_view *operands)
{
    const struct tilewright_shape *in = operands[X].shape, *out = operands[Y].shape;
    const struct tilewright_geometry geometry = {a->kernel, a->strides, a->dilations, a->pads};
    const int32_t is_down =
        out->extent[HEIGHT] > out->extent[WIDTH] && in->ring_rows == 0 && out->ring_rows == 0;
    struct window window;
    window.axis = is_down != 0 ? HEIGHT : WIDTH;
    window.other = is_down != 0 ? WIDTH : HEIGHT;
    window.along = tilewright_depthwise_axis(&geometry, in, out, window.axis);
    window.across = tilewright_depthwise_axis(&geometry, in, out, window.other);
    window.pitch = window.along.extent;
    window.bytes = (int8_t *)operands[SCRATCH].base;
    window.flip = a->is_unsigned != 0 ? 128 : 0;
    for (int32_t i = 0; i < window.pitch * window.across.extent; i++) {
        window.bytes[i] = (int8_t)(a->padding ^ window.flip);
    }
    return window;
}

/* The fields of lines that are the same for all channels. */
static struct tilewright_depthwise_lines
prepare(const struct tilewright_depthwise_mve_attributes *a, const struct window *window,
        const struct tilewright_shape *out)
{
    const int32_t along = window->axis - HEIGHT, across = window->other - HEIGHT;
    const int32_t count = out->extent[window->axis], stride = out->stride[window->axis];
    /* Lines of fewer than four elements are lines of one element, which is computed four times. */
    const int32_t is_short = count < TOGETHER;
    const int32_t back = is_short != 0 || count % TOGETHER == 0 ? 0 : TOGETHER - count % TOGETHER;
    struct tilewright_depthwise_lines lines = {.x_line = a->strides[across] * window->pitch,
                                               .y_line = out->stride[window->other],
                                               .x_step = is_short != 0 ? 0 : a->strides[along],
                                               .y_together = TOGETHER * stride,
                                               .addend = a->addend,
                                               .shift = -a->shift,
                                               .groups = is_short != 0 ? 1 : count / TOGETHER,
                                               .x_back = back * a->strides[along],
                                               .y_back = back * stride,
                                               .minimum = a->minimum,
                                               .maximum = a->maximum};
    for (int32_t t = 0; t < a->kernel[0] * a->kernel[1]; t++) {
        const int32_t tap[] = {t / a->kernel[1] * a->dilations[0],
                               t % a->kernel[1] * a->dilations[1]};
        lines.offsets[t] = (uint8_t)(tap[across] * window->pitch + tap[along]);
    }
    for (int32_t i = 0; i < TOGETHER; i++) {
        lines.places[i] = is_short != 0 ? 0 : i * stride;
    }
    return lines;
}

/* Computes one channel; `offset` is the bytes to its elements in y. */
static void channel(const struct tilewright_depthwise_mve_attributes *a,
                    const struct window *window, struct tilewright_depthwise_lines *lines,
                    const struct tilewright_view *y, ptrdiff_t offset)
{
    const struct tilewright_shape *out = y->shape;
    const int32_t count = out->extent[window->axis], all = out->extent[window->other];
    const int32_t elements = count < TOGETHER ? count : 1;

    for (int32_t i = 0; i < elements; i++) {
        for (int32_t done = 0; done < all; done += lines->lines) {
            const int32_t line = out->origin[window->other] + done;
            lines->lines = tilewright_rows_in_line(y, window->other, line, all - done);
            lines->x = window->bytes + done * lines->x_line + i * a->strides[window->axis - HEIGHT];
            lines->y = tilewright_row(y, window->other, line) + offset +
                       (ptrdiff_t)i * out->stride[window->axis];
            a->compute(lines);
        }
    }
}

void tilewright_depthwise_mve(const struct tilewright_depthwise_mve_attributes *a,
                              const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_shape *out = operands[Y].shape;
    const int32_t taps = a->kernel[0] * a->kernel[1];
    const struct window window = open(a, operands);
    struct tilewright_depthwise_lines lines = prepare(a, &window, out);

    (void)flags;
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        const int32_t *row = (const int32_t *)(const void *)operands[ROWS].base;
        const int8_t *weights = (const int8_t *)operands[WEIGHTS].base;
        for (int32_t c = 0; c < out->extent[CHANNEL]; c++) {
            load(&window, &operands[X],
                 (ptrdiff_t)n * in->stride[BATCH] + (ptrdiff_t)c * in->stride[CHANNEL]);
            set_weights(&lines, weights, taps);
            lines.bias = row[0];
            lines.multiplier = row[a->biased];
            if (a->row_words == TILEWRIGHT_WORDS_HIGH) {
                lines.shift = -row[3];
            }
            if (a->biased == 0 || a->row_words == TILEWRIGHT_WORDS_HIGH) {
                lines.addend = row[1 + a->biased];
            }
            channel(a, &window, &lines, &operands[Y],
                    (ptrdiff_t)n * out->stride[BATCH] + (ptrdiff_t)c * out->stride[CHANNEL]);
            weights += taps;
            row += a->row_words;
        }
    }
}
