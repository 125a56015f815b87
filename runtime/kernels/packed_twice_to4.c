/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of packed convolutions with runs of two, three and four taps that finish by rule TWICE.
 */
#include "tilewright/kernels/packed_core.h"

TILEWRIGHT_PACKED_CORES(twice, to4, TILEWRIGHT_WORDS_TWICE, TILEWRIGHT_RULE_TWICE)
