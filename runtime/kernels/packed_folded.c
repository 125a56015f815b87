/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of packed convolutions that finish by rule FOLDED. */
#include "tilewright/kernels/packed_core.h"

TILEWRIGHT_PACKED_CORES(folded, TILEWRIGHT_WORDS_FOLDED, TILEWRIGHT_RULE_FOLDED)
