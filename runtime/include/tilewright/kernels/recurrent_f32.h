/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_KERNELS_RECURRENT_F32_H
#define TILEWRIGHT_KERNELS_RECURRENT_F32_H

#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tilewright_cell { TILEWRIGHT_CELL_RNN = 0, TILEWRIGHT_CELL_GRU = 1, TILEWRIGHT_CELL_LSTM = 2 };

/* Numbers of the activations; alpha and beta as ONNX has them. */
enum tilewright_activation {
    TILEWRIGHT_SIGMOID = 0,
    TILEWRIGHT_TANH = 1,
    TILEWRIGHT_RELU = 2,
    TILEWRIGHT_AFFINE = 3,
    TILEWRIGHT_LEAKY_RELU = 4,
    TILEWRIGHT_THRESHOLDED_RELU = 5,
    TILEWRIGHT_SCALED_TANH = 6,
    TILEWRIGHT_HARD_SIGMOID = 7,
    TILEWRIGHT_ELU = 8,
    TILEWRIGHT_SOFTSIGN = 9,
    TILEWRIGHT_SOFTPLUS = 10
};

/* Per direction three activations. An operand that the node leaves out has number -1 here, others
 * their position in the operand array. */
struct tilewright_recurrent_f32_attributes {
    int32_t cell;
    int32_t reverse[2];
    int32_t activations[6];
    float alpha[6];
    float beta[6];
    float clip;
    int32_t linear_before_reset;
    int32_t input_forget;
    int32_t bias;
    int32_t lengths;
    int32_t initial_h;
    int32_t initial_c;
    int32_t peepholes;
    int32_t outputs; /* position of Y; Y_h follows, and Y_c for LSTM */
};

/* RNN, GRU or LSTM over a whole sequence. Operands with trailing axes: X [step, entry, input],
 * W [direction, gate * unit, input], R [direction, gate * unit, unit], B [direction, 2 * gate *
 * unit], lengths [entry], initial states [direction, entry, unit], P [direction, 3 * unit], Y
 * [step, direction, entry, unit], last states; then scratch of (gates + 1) * units floats. */
void tilewright_recurrent_f32(const struct tilewright_recurrent_f32_attributes *attributes,
                              const struct tilewright_view *operands, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
