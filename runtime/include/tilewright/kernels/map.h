/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise functions of up to three operands: one walker, and a row function for each operator
 * and element type. Generated attributes name the row function, so that firmware contains the files
 * of those that it calls and no others. */
#ifndef TILEWRIGHT_KERNELS_MAP_H
#define TILEWRIGHT_KERNELS_MAP_H

#include "tilewright/kernels/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tilewright_map_attributes {
    tilewright_row_function row;
    int32_t operands; /* the output counts, and comes last */
    float parameters[4];
};

/* y = row(inputs); axes of extent 1 broadcast. Operands: the inputs, y, all with six axes. */
void tilewright_map(const struct tilewright_map_attributes *attributes,
                    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_MAP_ROW(name)                                                                   \
    void tilewright_map_##name(uint8_t *const *at, const int32_t *stride, int32_t count,           \
                               const void *context);
#define TILEWRIGHT_MAP_ROW_INTEGERS(name)                                                          \
    TILEWRIGHT_MAP_ROW(name##_i8)                                                                  \
    TILEWRIGHT_MAP_ROW(name##_u8)                                                                  \
    TILEWRIGHT_MAP_ROW(name##_i16)                                                                 \
    TILEWRIGHT_MAP_ROW(name##_u16)                                                                 \
    TILEWRIGHT_MAP_ROW(name##_i32)                                                                 \
    TILEWRIGHT_MAP_ROW(name##_u32)                                                                 \
    TILEWRIGHT_MAP_ROW(name##_i64)
#define TILEWRIGHT_MAP_ROW_NUMBERS(name)                                                           \
    TILEWRIGHT_MAP_ROW(name##_f32)                                                                 \
    TILEWRIGHT_MAP_ROW_INTEGERS(name)
#define TILEWRIGHT_MAP_ROW_ALL(name)                                                               \
    TILEWRIGHT_MAP_ROW_NUMBERS(name)                                                               \
    TILEWRIGHT_MAP_ROW(name##_b8)

/* Functions of one number. */
TILEWRIGHT_MAP_ROW_NUMBERS(abs)
TILEWRIGHT_MAP_ROW_NUMBERS(neg)
TILEWRIGHT_MAP_ROW_NUMBERS(sign)
TILEWRIGHT_MAP_ROW_INTEGERS(bitwise_not)
TILEWRIGHT_MAP_ROW(not_b8)
TILEWRIGHT_MAP_ROW(is_nan_f32)
TILEWRIGHT_MAP_ROW(is_inf_f32)
TILEWRIGHT_MAP_ROW(exp_f32)
TILEWRIGHT_MAP_ROW(log_f32)
TILEWRIGHT_MAP_ROW(sqrt_f32)
TILEWRIGHT_MAP_ROW(reciprocal_f32)
TILEWRIGHT_MAP_ROW(floor_f32)
TILEWRIGHT_MAP_ROW(ceil_f32)
TILEWRIGHT_MAP_ROW(round_f32)
TILEWRIGHT_MAP_ROW(erf_f32)
TILEWRIGHT_MAP_ROW(sin_f32)
TILEWRIGHT_MAP_ROW(cos_f32)
TILEWRIGHT_MAP_ROW(tan_f32)
TILEWRIGHT_MAP_ROW(asin_f32)
TILEWRIGHT_MAP_ROW(acos_f32)
TILEWRIGHT_MAP_ROW(atan_f32)
TILEWRIGHT_MAP_ROW(sinh_f32)
TILEWRIGHT_MAP_ROW(cosh_f32)
TILEWRIGHT_MAP_ROW(asinh_f32)
TILEWRIGHT_MAP_ROW(acosh_f32)
TILEWRIGHT_MAP_ROW(atanh_f32)
TILEWRIGHT_MAP_ROW(softplus_f32)
TILEWRIGHT_MAP_ROW(softsign_f32)
TILEWRIGHT_MAP_ROW(elu_f32)
TILEWRIGHT_MAP_ROW(selu_f32)
TILEWRIGHT_MAP_ROW(celu_f32)
TILEWRIGHT_MAP_ROW(thresholded_relu_f32)
TILEWRIGHT_MAP_ROW(shrink_f32)
TILEWRIGHT_MAP_ROW(gelu_f32)
TILEWRIGHT_MAP_ROW(gelu_tanh_f32)
TILEWRIGHT_MAP_ROW(mish_f32)
TILEWRIGHT_MAP_ROW(swish_f32)

/* Functions of two numbers of one type. */
TILEWRIGHT_MAP_ROW_INTEGERS(add)
TILEWRIGHT_MAP_ROW_INTEGERS(sub)
TILEWRIGHT_MAP_ROW_INTEGERS(mul)
TILEWRIGHT_MAP_ROW_INTEGERS(div)
TILEWRIGHT_MAP_ROW(add_f32)
TILEWRIGHT_MAP_ROW(mul_f32)
TILEWRIGHT_MAP_ROW_NUMBERS(min)
TILEWRIGHT_MAP_ROW_NUMBERS(max)
TILEWRIGHT_MAP_ROW_NUMBERS(mod)
TILEWRIGHT_MAP_ROW_NUMBERS(fmod)
TILEWRIGHT_MAP_ROW_NUMBERS(pow)
TILEWRIGHT_MAP_ROW_NUMBERS(prelu)
TILEWRIGHT_MAP_ROW_INTEGERS(bitwise_and)
TILEWRIGHT_MAP_ROW_INTEGERS(bitwise_or)
TILEWRIGHT_MAP_ROW_INTEGERS(bitwise_xor)
TILEWRIGHT_MAP_ROW_INTEGERS(shift_left)
TILEWRIGHT_MAP_ROW_INTEGERS(shift_right)

/* Comparisons and logic; the result is bool. */
TILEWRIGHT_MAP_ROW_ALL(equal)
TILEWRIGHT_MAP_ROW_ALL(less)
TILEWRIGHT_MAP_ROW_ALL(less_or_equal)
TILEWRIGHT_MAP_ROW(and_b8)
TILEWRIGHT_MAP_ROW(or_b8)
TILEWRIGHT_MAP_ROW(xor_b8)

/* A number to an integer power (x float) and an integer to a real power. */
TILEWRIGHT_MAP_ROW(pow_i32_f32)
TILEWRIGHT_MAP_ROW(pow_i64_f32)

/* condition ? a : b, by bytes of an element. */
TILEWRIGHT_MAP_ROW(where_1)
TILEWRIGHT_MAP_ROW(where_2)
TILEWRIGHT_MAP_ROW(where_4)
TILEWRIGHT_MAP_ROW(where_8)

/* From one type to another; out of an integer's range the nearest value, NaN is 0. */
TILEWRIGHT_MAP_ROW_ALL(cast_f32)
TILEWRIGHT_MAP_ROW_ALL(cast_b8)
TILEWRIGHT_MAP_ROW_ALL(cast_i8)
TILEWRIGHT_MAP_ROW_ALL(cast_u8)
TILEWRIGHT_MAP_ROW_ALL(cast_i16)
TILEWRIGHT_MAP_ROW_ALL(cast_u16)
TILEWRIGHT_MAP_ROW_ALL(cast_i32)
TILEWRIGHT_MAP_ROW_ALL(cast_u32)
TILEWRIGHT_MAP_ROW_ALL(cast_i64)

/* clip(round(x / scale) + zero point) from three operands: QuantizeLinear with scales known at run
 * time. */
TILEWRIGHT_MAP_ROW(quantize_i8)
TILEWRIGHT_MAP_ROW(quantize_u8)

#ifdef __cplusplus
}
#endif

#endif
