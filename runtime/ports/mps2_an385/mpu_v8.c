/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of Armv8-M's memory protection unit: any 32 bytes and multiples, which must not overlap.
 */
#include "mpu.h"

#if TILEWRIGHT_MPU_VERSION == 8

#define GRANULE ((uintptr_t)32)

#define ENABLE 0x1u
#define READ_AND_WRITE (1u << 1)
#define READ_ONLY (3u << 1)
#define EXECUTE_NEVER 0x1u

uint32_t tilewright_mpu_stack_granule(uint32_t stack_bytes)
{
    (void)stack_bytes;
    return GRANULE;
}

/* Cut from `piece` what an earlier one has; 0 if a piece would be left on both sides. */
static int cut(struct mpu_span *piece, const struct mpu_span *earlier)
{
    if (piece->end <= earlier->begin || piece->begin >= earlier->end) {
        return 1;
    }
    if (piece->begin < earlier->begin && piece->end > earlier->end) {
        return 0;
    }
    if (piece->begin < earlier->begin) {
        piece->end = earlier->begin;
    } else {
        piece->begin = earlier->end < piece->end ? earlier->end : piece->end;
    }
    return 1;
}

/* Granules that several spans touch belong to the first that is written. */
uint32_t tilewright_mpu_cover(const struct mpu_span *spans, uint32_t count,
                              struct mpu_entry *entries, uint32_t most)
{
    struct mpu_span pieces[TILEWRIGHT_MPU_ENTRIES];
    uint32_t used = 0;
    for (uint32_t pass = 0; pass < 2u; ++pass) {
        for (uint32_t i = 0; i < count; ++i) {
            struct mpu_span piece = spans[i];
            if ((piece.writes != 0u) == (pass != 0u)) {
                continue;
            }
            piece.begin = piece.begin / GRANULE * GRANULE;
            piece.end = (piece.end + GRANULE - 1u) / GRANULE * GRANULE;
            for (uint32_t k = 0; k < used; ++k) {
                if (cut(&piece, &pieces[k]) == 0) {
                    return 0;
                }
            }
            if (piece.begin >= piece.end) {
                continue;
            }
            if (used == most) {
                return 0;
            }
            /* The upper half of the attributes' index is what the unit's absence would mean. */
            const uint32_t kind = (uint32_t)(piece.begin >> 29);
            entries[used].base = (uint32_t)piece.begin |
                                 (piece.writes != 0u ? READ_AND_WRITE : READ_ONLY) |
                                 (piece.executes != 0u ? 0u : EXECUTE_NEVER);
            entries[used].limit = ((uint32_t)piece.end - (uint32_t)GRANULE) | kind << 1 | ENABLE;
            pieces[used] = piece;
            used += 1u;
        }
    }
    return used;
}

#endif
