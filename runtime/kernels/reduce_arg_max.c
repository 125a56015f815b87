/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/reducer.h"

TILEWRIGHT_EXTREME(arg_max_f32, float, int64_t, real,
                   x > best || (x != x && (best == best || s->select_last != 0)), s->best)
TILEWRIGHT_EXTREME(arg_max_i8, int8_t, int64_t, integer, x > best, s->best)
TILEWRIGHT_EXTREME(arg_max_u8, uint8_t, int64_t, integer, x > best, s->best)
TILEWRIGHT_EXTREME(arg_max_i16, int16_t, int64_t, integer, x > best, s->best)
TILEWRIGHT_EXTREME(arg_max_u16, uint16_t, int64_t, integer, x > best, s->best)
TILEWRIGHT_EXTREME(arg_max_i32, int32_t, int64_t, integer, x > best, s->best)
TILEWRIGHT_EXTREME(arg_max_u32, uint32_t, int64_t, integer, x > best, s->best)
TILEWRIGHT_EXTREME(arg_max_i64, int64_t, int64_t, integer, x > best, s->best)
