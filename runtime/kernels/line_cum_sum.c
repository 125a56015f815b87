/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/line_cumulative.h"

TILEWRIGHT_CUMULATIVES(cum_sum, 0, +)
