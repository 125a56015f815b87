/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between floats and quantized integers of 8 to 32 bits: for kernels, and for generated
 * headers, which wrap them for each input and output: kws_quantize_audio(0.25f). */
#ifndef TILEWRIGHT_INTERFACE_H
#define TILEWRIGHT_INTERFACE_H

#include "tilewright/kernels/float_math.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clip(round_half_even(x / scale) + zero_point, minimum, maximum); NaN becomes the zero point.
 * |minimum - zero_point| and |maximum - zero_point| are below 2^22, so the bounds are exact floats,
 * and clipping before rounding makes the conversions defined. */
TILEWRIGHT_INLINE int32_t tilewright_quantized(float x, float scale, int32_t zero_point,
                                               int32_t minimum, int32_t maximum)
{
    const float real = tilewright_clamp(tilewright_float_divide(x, scale),
                                        tilewright_float_from(minimum - zero_point),
                                        tilewright_float_from(maximum - zero_point));
    if (tilewright_float_is_nan(real)) {
        return zero_point;
    }
    return tilewright_float_nearest(real) + zero_point;
}

/* (x - zero_point) * scale. The difference wraps only if x and the zero point are int32 values at
 * least 2^31 apart. */
TILEWRIGHT_INLINE float tilewright_dequantized(int32_t x, float scale, int32_t zero_point)
{
    return tilewright_float_multiply(
        tilewright_float_from((int32_t)((uint32_t)x - (uint32_t)zero_point)), scale);
}

#ifdef __cplusplus
}
#endif

#endif
