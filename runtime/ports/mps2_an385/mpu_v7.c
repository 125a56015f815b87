/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of Armv7-M's memory protection unit: powers of two at multiples of themselves, in eight
 * parts that can be left out. */
#include "mpu.h"

#if TILEWRIGHT_MPU_VERSION == 7

#define PARTS 8u
#define SMALLEST_PART 32u

#define ENABLE 0x1u
#define READ_AND_WRITE (3u << 24)
#define READ_ONLY (6u << 24)
#define EXECUTE_NEVER (1u << 28)
/* As the processor treats these addresses without the unit. */
#define WRITE_THROUGH (2u << 16)
#define WRITE_BACK (0xbu << 16)
#define DEVICE (1u << 16)

static const uint32_t kinds[8] = {WRITE_THROUGH, WRITE_BACK, DEVICE, WRITE_BACK,
                                  WRITE_THROUGH, DEVICE,     DEVICE, DEVICE};

uint32_t tilewright_mpu_stack_granule(uint32_t stack_bytes)
{
    uint32_t granule = SMALLEST_PART;
    while (granule < TILEWRIGHT_MPU_STACK_SLACK && granule * PARTS < stack_bytes) {
        granule *= 2u;
    }
    return granule;
}

/* Entries that a span takes in parts of this size. */
static uint32_t entries_of(const struct mpu_span *span, uint32_t part)
{
    return (span->end - 1u) / part / PARTS - span->begin / part / PARTS + 1u;
}

/* The size of the parts in which a span takes so many entries. */
static uint32_t part_of(const struct mpu_span *span, uint32_t entries)
{
    uint32_t part = SMALLEST_PART;
    while (entries_of(span, part) > entries) {
        part *= 2u;
    }
    return part;
}

/* Bytes of parts that a span does not fill; 0 for one that layers do not write. */
static uint32_t excess(const struct mpu_span *span, uint32_t part)
{
    const uint32_t beside = (uint32_t)(span->begin % part) + (uint32_t)(0u - span->end) % part;
    return span->writes != 0u && part > SMALLEST_PART ? beside : 0u;
}

/* Whether an earlier span that layers may only read has all of this one. */
static int is_covered(const struct mpu_span *spans, uint32_t number)
{
    int found = 0;
    for (uint32_t i = 0; i < number && spans[number].writes == 0u; ++i) {
        found = found || (spans[i].writes == 0u && spans[i].begin <= spans[number].begin &&
                          spans[i].end >= spans[number].end);
    }
    return found;
}

/* One entry for each span, and what is left for the parts of those that reach too far. */
static int share(const struct mpu_span *spans, uint32_t count, uint32_t *shares, uint32_t most)
{
    uint32_t left = most;
    for (uint32_t i = 0; i < count; ++i) {
        shares[i] = is_covered(spans, i) ? 0u : 1u;
        if (left < shares[i]) {
            return 0;
        }
        left -= shares[i];
    }
    for (; left > 0u; --left) {
        uint32_t worst = 0, worst_bytes = 0;
        for (uint32_t i = 0; i < count; ++i) {
            if (shares[i] == 0u) {
                continue;
            }
            const uint32_t bytes = excess(&spans[i], part_of(&spans[i], shares[i]));
            if (bytes > worst_bytes) {
                worst = i;
                worst_bytes = bytes;
            }
        }
        if (worst_bytes == 0u) {
            break;
        }
        shares[worst] += 1u;
    }
    return 1;
}

static uint32_t size_field(uint32_t part)
{
    uint32_t field = 1;
    for (uint32_t bytes = part * PARTS; bytes > 4u; bytes /= 2u) {
        field += 1u;
    }
    return field << 1;
}

/* The parts of an entry that a span leaves out, as bits. */
static uint32_t left_out(const struct mpu_span *span, uintptr_t base, uint32_t part)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < PARTS; ++i) {
        const uintptr_t begin = base + i * part;
        const int is_inside = begin / part >= span->begin / part && begin < span->end;
        bits |= is_inside ? 0u : 1u << i;
    }
    return bits << 8;
}

/* Where entries overlap, the later one counts: those that are written come last. */
uint32_t tilewright_mpu_cover(const struct mpu_span *spans, uint32_t count,
                              struct mpu_entry *entries, uint32_t most)
{
    uint32_t shares[TILEWRIGHT_MPU_ENTRIES];
    uint32_t used = 0;
    if (share(spans, count, shares, most) == 0) {
        return 0;
    }
    for (uint32_t pass = 0; pass < 2u; ++pass) {
        for (uint32_t i = 0; i < count; ++i) {
            const struct mpu_span *span = &spans[i];
            if (span->writes != pass || shares[i] == 0u) {
                continue;
            }
            const uint32_t part = part_of(span, shares[i]);
            uintptr_t base = span->begin / part / PARTS * PARTS * part;
            for (uint32_t k = entries_of(span, part); k > 0u; --k) {
                entries[used].base = (uint32_t)base;
                entries[used].limit = left_out(span, base, part) | size_field(part) |
                                      (span->writes != 0u ? READ_AND_WRITE : READ_ONLY) |
                                      (span->executes != 0u ? 0u : EXECUTE_NEVER) |
                                      kinds[base >> 29] | ENABLE;
                base += part * PARTS;
                used += 1u;
            }
        }
    }
    return used;
}

#endif
