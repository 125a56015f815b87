/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of packed convolutions with runs of four, eight and sixteen taps that finish by rule
 * TWICE. */
#include "tilewright/kernels/packed_core.h"

TILEWRIGHT_PACKED_CORES(twice, to16, TILEWRIGHT_WORDS_TWICE, TILEWRIGHT_RULE_TWICE)
