/* SPDX-License-Identifier: Apache-2.0 */
#include <tilewright/check.h>
#include <tilewright/weights.h>

#define FORMAT 1u

static uint32_t word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static int is_equal(const uint8_t *bytes, const uint8_t *others, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && bytes[i] == others[i]) {
        ++i;
    }
    return i == count;
}

int tilewright_weights_fit(const void *file, uint32_t bytes, const uint8_t *layout, uint32_t size)
{
    static const uint8_t magic[8] = {'T', 'W', 'w', 'e', 'i', 'g', 'h', 't'};
    const uint8_t *header = file;
    if (bytes < size || size < TILEWRIGHT_WEIGHTS_HEADER || !is_equal(header, magic, 8u)) {
        return 0;
    }
    if (word(header + 8) != FORMAT || word(header + 12) != size ||
        !is_equal(header + 16, layout, 8u)) {
        return 0;
    }
    if (tilewright_crc32(0u, header, 60u) != word(header + 60)) {
        return 0;
    }
    const uint32_t behind = size - TILEWRIGHT_WEIGHTS_HEADER;
    return tilewright_crc32(0u, header + TILEWRIGHT_WEIGHTS_HEADER, behind) == word(header + 56);
}

void tilewright_weights_read(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; ++i) {
        to[i] = from[i];
    }
}
