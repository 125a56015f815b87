/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

TILEWRIGHT_MAP_2(or_b8, uint8_t, uint8_t, uint8_t, a != 0 || b != 0)
