/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/nd_windows.h"

enum { N = TILEWRIGHT_ND_N, C = TILEWRIGHT_ND_C, D = TILEWRIGHT_ND_SPATIAL };

/* The input position that tap k adds to output position `at` on spatial axis i; -1 if there is
 * none. */
static int32_t source(const struct tilewright_conv_transpose_f32_attributes *attributes,
                      const struct tilewright_shape *x, int32_t i, int32_t at, int32_t k)
{
    return tilewright_transposed_source(x, D + i, at, attributes->strides[i], attributes->pads[i],
                                        k, attributes->dilations[i]);
}

/* `total` plus the products of one tap over all input channels; `x` and `w` point to the group's
 * first input channel. */
static float sum_inputs(const struct tilewright_shape *x_shape, const uint8_t *x,
                        const struct tilewright_shape *w_shape, const uint8_t *w, int32_t inputs,
                        float total)
{
    for (int32_t c = 0; c < inputs; c++) {
        total += tilewright_load_f32(x) * tilewright_load_f32(w);
        x += x_shape->stride[C];
        w += w_shape->stride[N];
    }
    return total;
}

static float result(const struct tilewright_conv_transpose_f32_attributes *attributes,
                    const struct tilewright_view *operands, const uint8_t *x, const uint8_t *w,
                    const int32_t *at, float total)
{
    const struct tilewright_shape *x_shape = operands[0].shape;
    const struct tilewright_shape *w_shape = operands[1].shape;
    int32_t from[3];
    for (int32_t kd = 0; kd < attributes->kernel[0]; kd++) {
        from[0] = source(attributes, x_shape, 0, at[0], kd);
        for (int32_t kh = 0; from[0] >= 0 && kh < attributes->kernel[1]; kh++) {
            from[1] = source(attributes, x_shape, 1, at[1], kh);
            for (int32_t kw = 0; from[1] >= 0 && kw < attributes->kernel[2]; kw++) {
                from[2] = source(attributes, x_shape, 2, at[2], kw);
                if (from[2] >= 0) {
                    total = sum_inputs(x_shape, x + tilewright_nd_offset(x_shape, from), w_shape,
                                       w + (ptrdiff_t)kd * w_shape->stride[D] +
                                           (ptrdiff_t)kh * w_shape->stride[D + 1] +
                                           (ptrdiff_t)kw * w_shape->stride[D + 2],
                                       attributes->group_inputs, total);
                }
            }
        }
    }
    return total;
}

void tilewright_conv_transpose_f32(
    const struct tilewright_conv_transpose_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_view *output = &operands[attributes->biased != 0 ? 3 : 2];
    const struct tilewright_shape *y = output->shape;
    int32_t at[3];

    (void)flags;
    for (int32_t n = y->origin[N]; n < y->origin[N] + y->extent[N]; n++) {
        for (int32_t channel = y->origin[C]; channel < y->origin[C] + y->extent[C]; channel++) {
            const int32_t group = channel / attributes->group_outputs;
            const int32_t first = group * attributes->group_inputs;
            const uint8_t *x = operands[0].base + tilewright_axis_offset(operands[0].shape, N, n) +
                               tilewright_axis_offset(operands[0].shape, C, first);
            const uint8_t *w = operands[1].base +
                               tilewright_axis_offset(operands[1].shape, N, first) +
                               tilewright_axis_offset(operands[1].shape, C,
                                                      channel - group * attributes->group_outputs);
            const float bias =
                attributes->biased != 0
                    ? tilewright_load_f32(operands[2].base +
                                          tilewright_axis_offset(operands[2].shape, C, channel))
                    : 0.0f;
            uint8_t *to = output->base + tilewright_axis_offset(y, N, n) +
                          tilewright_axis_offset(y, C, channel);
            tilewright_nd_first(y, at);
            do {
                tilewright_store_f32(to + tilewright_nd_offset(y, at),
                                     result(attributes, operands, x, w, at, bias));
            } while (tilewright_nd_next(y, at));
        }
    }
}
