/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/float_math.h"

/* Operands: x, y, and one element for the scale of the line. */
enum { X, Y, SCALE };

struct range {
    float low, high;
};

static struct range range_of(const uint8_t *x, int32_t stride, int32_t count)
{
    struct range range = {tilewright_load_f32(x), tilewright_load_f32(x)};
    for (; count > 0; count--) {
        const float value = tilewright_load_f32(x);
        range.low = tilewright_float_less(value, range.low) ? value : range.low;
        range.high = tilewright_float_less(range.high, value) ? value : range.high;
        x += stride;
    }
    return range;
}

/* The nearest integer within bounds between -128 and 127, halves away from zero; NaN is 0. */
static int32_t nearest_within(float value, int32_t low, int32_t high)
{
    if (tilewright_float_is_nan(value)) {
        return 0;
    }
    const int32_t rounded = tilewright_float_away(tilewright_clamp(value, -129.0f, 129.0f));
    return rounded < low ? low : rounded > high ? high : rounded;
}

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
        *(int8_t *)y = (int8_t)nearest_within(
            tilewright_float_multiply(tilewright_load_f32(x), inverse), -127, 127);
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
    const float offset = (float)zero;
    const uint8_t *x = at[X];
    uint8_t *y = at[Y];

    (void)context;
    for (int32_t i = extent[X]; i > 0; i--) {
        const float value = tilewright_float_add(
            offset, tilewright_float_multiply(tilewright_load_f32(x), inverse));
        *(int16_t *)(void *)y = (int16_t)(nearest_within(value, -128, 127) - zero);
        x += stride[X];
        y += stride[Y];
    }
    tilewright_store_f32(at[SCALE], (float)scale);
}
