/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/reducer.h"

TILEWRIGHT_EXTREME(min_f32, float, float, real, x < best || (x != x && best == best), s->real)
TILEWRIGHT_EXTREME(min_i8, int8_t, int8_t, integer, x < best, s->integer)
TILEWRIGHT_EXTREME(min_u8, uint8_t, uint8_t, integer, x < best, s->integer)
TILEWRIGHT_EXTREME(min_i16, int16_t, int16_t, integer, x < best, s->integer)
TILEWRIGHT_EXTREME(min_u16, uint16_t, uint16_t, integer, x < best, s->integer)
TILEWRIGHT_EXTREME(min_i32, int32_t, int32_t, integer, x < best, s->integer)
TILEWRIGHT_EXTREME(min_u32, uint32_t, uint32_t, integer, x < best, s->integer)
TILEWRIGHT_EXTREME(min_i64, int64_t, int64_t, integer, x < best, s->integer)
