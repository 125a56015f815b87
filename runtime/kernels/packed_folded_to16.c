/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of packed convolutions with runs of four, eight and sixteen taps that finish by rule
 * FOLDED. */
#include "tilewright/kernels/packed_core.h"

TILEWRIGHT_PACKED_CORES(folded, to16, TILEWRIGHT_WORDS_FOLDED, TILEWRIGHT_RULE_FOLDED)
