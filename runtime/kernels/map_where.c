/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/map_rows.h"

#if defined(__GNUC__)
#define MAY_ALIAS __attribute__((__may_alias__))
#else
#define MAY_ALIAS
#endif

/* Elements are moved as integers, whatever they are. */
typedef uint16_t MAY_ALIAS half_word;
typedef uint32_t MAY_ALIAS word;
typedef uint64_t MAY_ALIAS long_word;

TILEWRIGHT_MAP_3(where_1, uint8_t, uint8_t, uint8_t, uint8_t, a != 0 ? b : c)
TILEWRIGHT_MAP_3(where_2, half_word, uint8_t, half_word, half_word, a != 0 ? b : c)
TILEWRIGHT_MAP_3(where_4, word, uint8_t, word, word, a != 0 ? b : c)
TILEWRIGHT_MAP_3(where_8, long_word, uint8_t, long_word, long_word, a != 0 ? b : c)
