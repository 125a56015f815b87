/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of packed convolutions that finish by rule AWAY. */
#include "tilewright/kernels/packed_core.h"

TILEWRIGHT_PACKED_CORES(away, TILEWRIGHT_WORDS_AWAY, TILEWRIGHT_RULE_AWAY)
