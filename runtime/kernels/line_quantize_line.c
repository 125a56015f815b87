/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/float_math.h"

/* Operands: x, y, and one element for the scale of the line. */
enum { X, Y, SCALE };

struct range {
    float low, high;
};

#if TILEWRIGHT_FAST_FLOATS

static struct range range_of(const uint8_t *x, int32_t stride, int32_t count)
{
    struct range range = {tilewright_load_f32(x), tilewright_load_f32(x)};
    for (; count > 0; count--) {
        const float value = tilewright_load_f32(x);
        range.low = value < range.low ? value : range.low;
        range.high = value > range.high ? value : range.high;
        x += stride;
    }
    return range;
}

/* The nearest integer, halves away from zero; |value| is at most 2^24. NaN is 0. */
static int32_t nearest(float value)
{
    if (value != value) {
        return 0;
    }
    const int32_t whole = (int32_t)value;
    const float rest = value - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/* The nearest integer within bounds between -128 and 127, halves away from zero; NaN is 0. */
static int32_t nearest_within(float value, int32_t low, int32_t high)
{
    const int32_t rounded = nearest(tilewright_clamp(value, (float)low - 1.0f, (float)high + 1.0f));
    return rounded < low ? low : rounded > high ? high : rounded;
}

#else

/* Library functions would compare floats in ten times as many instructions as it takes to compare
 * their bits: those of numbers below 0 grow downwards. */
union bits {
    float number;
    int32_t word;
};

enum { MAGNITUDE = 0x7fffffff, INFINITE = 0x7f800000, BITS_OF_128 = 0x43000000 };

static int32_t in_order(int32_t word)
{
    return word ^ (word >> 31 & MAGNITUDE);
}

static struct range range_of(const uint8_t *x, int32_t stride, int32_t count)
{
    const union bits first = {tilewright_load_f32(x)};
    int32_t low = in_order(first.word), high = low;
    /* A line that begins with NaN has no range. */
    if ((first.word & MAGNITUDE) > INFINITE) {
        count = 0;
    }
    for (; count > 0; count--) {
        const union bits value = {tilewright_load_f32(x)};
        const int32_t place = in_order(value.word);
        if ((value.word & MAGNITUDE) <= INFINITE) {
            low = place < low ? place : low;
            high = place > high ? place : high;
        }
        x += stride;
    }
    const union bits ends[] = {{.word = in_order(low)}, {.word = in_order(high)}};
    return (struct range){ends[0].number, ends[1].number};
}

/* The nearest integer within bounds between -128 and 127, halves away from zero; NaN is 0. */
static int32_t nearest_within(float value, int32_t low, int32_t high)
{
    const union bits bits = {value};
    const int32_t magnitude = bits.word & MAGNITUDE;
    if (magnitude > INFINITE) {
        return 0;
    }
    if (magnitude >= BITS_OF_128) {
        return bits.word < 0 ? low : high;
    }
    const int32_t rounded = tilewright_rounded_bits(value, 0);
    return rounded < low ? low : rounded > high ? high : rounded;
}

#endif

void tilewright_line_quantize_line_i8(uint8_t *const *at, const int32_t *stride,
                                      const int32_t *extent, const void *context)
{
    const struct range range = range_of(at[X], stride[X], extent[X]);
    const float reach = -range.low > range.high ? -range.low : range.high;
    const float inverse = reach > 0.0f ? 127.0f / reach : 0.0f;
    const uint8_t *x = at[X];
    uint8_t *y = at[Y];

    (void)context;
    for (int32_t i = extent[X]; i > 0; i--) {
        *(int8_t *)y = (int8_t)nearest_within(tilewright_load_f32(x) * inverse, -127, 127);
        x += stride[X];
        y += stride[Y];
    }
    tilewright_store_f32(at[SCALE], reach > 0.0f ? reach / 127.0f : 1.0f);
}

/* The stored integer of 0, for the end of the range whose own rounding costs less. */
static int32_t zero_of(double low, double high, double scale)
{
    const double below = low / scale;
    const double above = high / scale;
    const double zero = 128.0 - below < 127.0 + above ? -128.0 - below : 127.0 - above;
    if (zero <= -128.0) {
        return -128;
    }
    return zero >= 127.0 ? 127 : (int32_t)(zero < 0.0 ? zero - 0.5 : zero + 0.5);
}

void tilewright_line_quantize_line_i16(uint8_t *const *at, const int32_t *stride,
                                       const int32_t *extent, const void *context)
{
    const struct range range = range_of(at[X], stride[X], extent[X]);
    const double low = range.low < 0.0f ? (double)range.low : 0.0;
    const double high = range.high > 0.0f ? (double)range.high : 0.0;
    const int empty = !(low < high);
    const double scale = empty ? 1.0 : (high - low) / 255.0;
    const int32_t zero = empty ? 0 : zero_of(low, high, scale);
    const float inverse = empty ? 0.0f : (float)(1.0 / (double)(float)scale);
    const uint8_t *x = at[X];
    uint8_t *y = at[Y];

    (void)context;
    for (int32_t i = extent[X]; i > 0; i--) {
        const float value = (float)zero + tilewright_load_f32(x) * inverse;
        *(int16_t *)(void *)y = (int16_t)(nearest_within(value, -128, 127) - zero);
        x += stride[X];
        y += stride[Y];
    }
    tilewright_store_f32(at[SCALE], (float)scale);
}
