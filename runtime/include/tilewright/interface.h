/* SPDX-License-Identifier: Apache-2.0 */
/* Between real numbers and the integers that quantised inputs and outputs store.
 *
 * Generated headers wrap these functions for each tensor: kws_quantize_audio(0.25f). */
#ifndef TILEWRIGHT_INTERFACE_H
#define TILEWRIGHT_INTERFACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The stored integer of a real number, as ONNX's QuantizeLinear: value / scale rounded to the
 * nearest integer, halves to the even one, plus the zero point, clipped to [low, high]. NaN gives
 * the zero point. scale > 0; all integers lie in
 * [-65536, 65536]. */
static inline int32_t tilewright_stored_integer(float value, float scale, int32_t zero_point,
                                                int32_t low, int32_t high)
{
    const float steps = value / scale;
    if (steps >= (float)(high - zero_point)) {
        return high;
    }
    if (steps <= (float)(low - zero_point)) {
        return low;
    }
    if (!(steps > -131072.0f && steps < 131072.0f)) {
        return zero_point;
    }
    int32_t whole = (int32_t)steps;
    const float rest = steps - (float)whole;
    const int32_t odd = whole & 1;
    if (rest > 0.5f || (rest >= 0.5f && odd != 0)) {
        whole++;
    }
    if (rest < -0.5f || (rest <= -0.5f && odd != 0)) {
        whole--;
    }
    return whole + zero_point;
}

/* The real number that a stored integer means, as ONNX's DequantizeLinear. */
static inline float tilewright_real_number(int32_t stored, float scale, int32_t zero_point)
{
    return (float)(stored - zero_point) * scale;
}

#ifdef __cplusplus
}
#endif

#endif
