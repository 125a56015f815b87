/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/basics.h"
#include "tilewright/kernels/map_rows.h"

/* Elements of 2, 4 and 8 bytes are copied as unsigned integers, whatever their type. */
TILEWRIGHT_MAP_3(where_1, uint8_t, uint8_t, uint8_t, uint8_t, a != 0 ? b : c)
TILEWRIGHT_MAP_3(where_2, tilewright_half_word, uint8_t, tilewright_half_word, tilewright_half_word,
                 a != 0 ? b : c)
TILEWRIGHT_MAP_3(where_4, tilewright_word, uint8_t, tilewright_word, tilewright_word,
                 a != 0 ? b : c)
TILEWRIGHT_MAP_3(where_8, tilewright_double_word, uint8_t, tilewright_double_word,
                 tilewright_double_word, a != 0 ? b : c)
