/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of packed convolutions with runs of two, three and four taps that finish by rule HIGH.
 */
#include "tilewright/kernels/packed_core.h"

TILEWRIGHT_PACKED_CORES(high, to4, TILEWRIGHT_WORDS_HIGH, TILEWRIGHT_RULE_HIGH)
