/* SPDX-License-Identifier: Apache-2.0 */
#include <tilewright/check.h>

/* The remainders of half a byte: 64 bytes of table instead of 1,024. */
static const uint32_t remainders[16] = {
    0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
    0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
    0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
};

/* The bytes are read as they are now: a compiler knows what constants were. */
uint32_t tilewright_crc32(uint32_t crc, const volatile uint8_t *bytes, uint32_t count)
{
    crc = ~crc;
    for (uint32_t i = 0; i < count; ++i) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ remainders[crc & 15u];
        crc = (crc >> 4) ^ remainders[crc & 15u];
    }
    return ~crc;
}

enum tilewright_check_status tilewright_check_parts(const struct tilewright_checked *parts,
                                                    uint32_t count, struct tilewright_check *check,
                                                    uint32_t most_bytes)
{
    uint32_t budget = most_bytes == 0u ? UINT32_MAX : most_bytes;
    while (check->part < count && budget != 0u) {
        const struct tilewright_checked *part = &parts[check->part];
        const uint32_t left = part->size_bytes - check->at;
        const uint32_t taken = left < budget ? left : budget;
        const volatile uint8_t *bytes = part->bytes;
        check->crc = tilewright_crc32(check->crc, bytes + check->at, taken);
        check->at += taken;
        budget -= taken;
        if (check->at < part->size_bytes) {
            return TILEWRIGHT_CHECK_UNFINISHED;
        }
        if (check->crc != part->crc) {
            return TILEWRIGHT_CHECK_CORRUPTED;
        }
        *check = (struct tilewright_check){check->part + 1u, 0u, 0u};
    }
    if (check->part < count) {
        return TILEWRIGHT_CHECK_UNFINISHED;
    }
    *check = (struct tilewright_check){0u, 0u, 0u};
    return TILEWRIGHT_CHECK_AGREES;
}
