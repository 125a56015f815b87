/* SPDX-License-Identifier: Apache-2.0 */
/* Written by train_parity.py. */
#define PARITY_CORRECT_BY_ONNXRUNTIME 350
