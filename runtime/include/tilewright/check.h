/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, in slices, that constants still have the bytes of the plan. */
#ifndef TILEWRIGHT_CHECK_H
#define TILEWRIGHT_CHECK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How far a check has come; all zero before its first slice. `part` counts the constants, `at` the
 * bytes of this one, `crc` is the CRC-32 of these bytes. */
struct tilewright_check {
    uint32_t part;
    uint32_t at;
    uint32_t crc;
};

/* A constant: where it lies, and the CRC-32 of its bytes (ISO 3309, as zlib has it). */
struct tilewright_checked {
    const void *bytes;
    uint32_t size_bytes;
    uint32_t crc;
};

/* AGREES: all constants have been read and are the plan's, and `check` is all zero again.
 * UNFINISHED: there are more. CORRUPTED: constant `check->part` has other bytes. */
enum tilewright_check_status {
    TILEWRIGHT_CHECK_AGREES = 0,
    TILEWRIGHT_CHECK_UNFINISHED,
    TILEWRIGHT_CHECK_CORRUPTED
};

/* The CRC-32 of bytes that follow others of which `crc` is that; of the first ones 0. */
uint32_t tilewright_crc32(uint32_t crc, const volatile uint8_t *bytes, uint32_t count);

/* Read at most `most_bytes` more bytes of `count` constants; 0 reads all that are left. */
enum tilewright_check_status tilewright_check_parts(const struct tilewright_checked *parts,
                                                    uint32_t count, struct tilewright_check *check,
                                                    uint32_t most_bytes);

#ifdef __cplusplus
}
#endif

#endif
