/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/nd_windows.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { N = TILEWRIGHT_ND_N, C = TILEWRIGHT_ND_C, D = TILEWRIGHT_ND_SPATIAL };

struct channels;

/* Adds the products of one tap to the sums of all channels; `x` points to the first input channel.
 */
typedef void add_tap(const struct channels *channels, const uint8_t *x, const uint8_t *weights);

/* Output channels of one group at one output position. Weights are [channel][tap][input]. */
struct channels {
    add_tap *add;
    const struct tilewright_conv_transpose_integer_attributes *attributes;
    const struct tilewright_shape *x_shape;
    const uint8_t *x; /* the group's first input channel */
    const uint8_t *weights;
    int32_t tap_bytes;
    ptrdiff_t pitch; /* bytes of a channel's weights */
    int32_t *sums;
    int32_t count;
};

/* The input position that tap k adds to output position `at` on spatial axis i; -1 if there is
 * none. */
static int32_t source(const struct channels *channels, int32_t i, int32_t at, int32_t k)
{
    const struct tilewright_conv_transpose_integer_attributes *attributes = channels->attributes;
    return tilewright_transposed_source(channels->x_shape, D + i, at, attributes->strides[i],
                                        attributes->pads[i], k, attributes->dilations[i]);
}

/* Adds the products of one tap to the sums of all channels. Callers pass constants for
 * `is_unsigned` and `wide`. */
TILEWRIGHT_INLINE void add_products(const struct channels *channels, const uint8_t *x,
                                    const uint8_t *weights, const int is_unsigned, const int wide)
{
    const int32_t inputs = channels->attributes->group_inputs;
    const int32_t zero_point = channels->attributes->zero_point;
    const int32_t stride = channels->x_shape->stride[C];
    for (int32_t j = 0; j < channels->count; j++) {
        const int16_t *long_weight = (const int16_t *)(const void *)weights;
        const int8_t *weight = (const int8_t *)(const void *)weights;
        const uint8_t *element = x;
        int32_t sum = channels->sums[j];
        for (int32_t c = inputs; c > 0; c--) {
            const int32_t value = is_unsigned != 0 ? *element : (int8_t)*element;
            sum += (value - zero_point) * (wide != 0 ? *long_weight++ : *weight++);
            element += stride;
        }
        channels->sums[j] = sum;
        weights += channels->pitch;
    }
}

static TILEWRIGHT_NOINLINE void add_signed(const struct channels *channels, const uint8_t *x,
                                           const uint8_t *weights)
{
    add_products(channels, x, weights, 0, 0);
}

static TILEWRIGHT_NOINLINE void add_unsigned(const struct channels *channels, const uint8_t *x,
                                             const uint8_t *weights)
{
    add_products(channels, x, weights, 1, 0);
}

static TILEWRIGHT_NOINLINE void add_signed_wide(const struct channels *channels, const uint8_t *x,
                                                const uint8_t *weights)
{
    add_products(channels, x, weights, 0, 1);
}

static TILEWRIGHT_NOINLINE void add_unsigned_wide(const struct channels *channels, const uint8_t *x,
                                                  const uint8_t *weights)
{
    add_products(channels, x, weights, 1, 1);
}

static add_tap *adder_of(const struct tilewright_conv_transpose_integer_attributes *attributes)
{
    if (attributes->wide != 0) {
        return attributes->is_unsigned != 0 ? add_unsigned_wide : add_signed_wide;
    }
    return attributes->is_unsigned != 0 ? add_unsigned : add_signed;
}

/* Adds the products of every tap that meets an element of x. */
static void add_taps(const struct channels *channels, const int32_t *at)
{
    const int32_t *kernel = channels->attributes->kernel;
    int32_t from[3];
    for (int32_t kd = 0; kd < kernel[0]; kd++) {
        from[0] = source(channels, 0, at[0], kd);
        for (int32_t kh = 0; from[0] >= 0 && kh < kernel[1]; kh++) {
            from[1] = source(channels, 1, at[1], kh);
            for (int32_t kw = 0; from[1] >= 0 && kw < kernel[2]; kw++) {
                from[2] = source(channels, 2, at[2], kw);
                if (from[2] >= 0) {
                    const int32_t tap = (kd * kernel[1] + kh) * kernel[2] + kw;
                    channels->add(channels,
                                  channels->x + tilewright_nd_offset(channels->x_shape, from),
                                  channels->weights + (ptrdiff_t)tap * channels->tap_bytes);
                }
            }
        }
    }
}

/* Computes all channels of y at one position of batch entry n. */
static void run_position(const struct tilewright_conv_transpose_integer_attributes *attributes,
                         const struct tilewright_view *operands,
                         const struct tilewright_limits *limits, int32_t n, const int32_t *at)
{
    const struct tilewright_line_rule *rule = attributes->rule;
    const struct tilewright_shape *y = operands[Y].shape;
    const int32_t *kernel = attributes->kernel;
    const int32_t *row = (const int32_t *)(const void *)operands[ROWS].base;
    const uint8_t *x = operands[X].base + tilewright_axis_offset(operands[X].shape, N, n);
    uint8_t *out = operands[Y].base + tilewright_axis_offset(y, N, n) + tilewright_nd_offset(y, at);
    const int32_t tap_bytes = attributes->group_inputs * (attributes->wide != 0 ? 2 : 1);
    struct channels channels = {adder_of(attributes),
                                attributes,
                                operands[X].shape,
                                NULL,
                                operands[WEIGHTS].base,
                                tap_bytes,
                                (ptrdiff_t)kernel[0] * kernel[1] * kernel[2] * tap_bytes,
                                (int32_t *)(void *)operands[SCRATCH].base,
                                0};
    int32_t channel = y->origin[C];
    const int32_t end = channel + y->extent[C];
    while (channel < end) {
        const int32_t group = channel / attributes->group_outputs;
        const int32_t behind = (group + 1) * attributes->group_outputs;
        channels.count = (behind < end ? behind : end) - channel;
        channels.x =
            x + tilewright_axis_offset(operands[X].shape, C, group * attributes->group_inputs);
        for (int32_t j = 0; j < channels.count; j++) {
            channels.sums[j] = rule->biased != 0 ? row[j * rule->row_words] : 0;
        }
        add_taps(&channels, at);
        for (int32_t j = 0; j < channels.count; j++) {
            rule->finish(limits, &channels.sums[j], row,
                         out + tilewright_axis_offset(y, C, channel + j), 0, 1);
            row += rule->row_words;
        }
        channels.weights += channels.count * channels.pitch;
        channel += channels.count;
    }
}

void tilewright_conv_transpose_integer(
    const struct tilewright_conv_transpose_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *y = operands[Y].shape;
    const struct tilewright_limits limits = TILEWRIGHT_LIMITS(attributes);
    int32_t at[3];

    (void)flags;
    for (int32_t n = y->origin[N]; n < y->origin[N] + y->extent[N]; n++) {
        tilewright_nd_first(y, at);
        do {
            run_position(attributes, operands, &limits, n, at);
        } while (tilewright_nd_next(y, at));
    }
}
