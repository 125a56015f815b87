/* SPDX-License-Identifier: Apache-2.0 */
/* Brings constants to external HyperRAM before main. No loader reaches it, so the linker script
 * leaves them in the program's file, in sections that are not allocated; the simulator's host hands
 * out that file by semihosting. */
#include "registers.h"

#include <stddef.h>

#define OPEN 1u
#define READ 6u
#define SEEK 10u
#define READ_BINARY 1u

#define PIECE_BYTES 1024u

/* The part of 32-bit ELF's headers that counts, in words. */
#define HEADER_WORDS 13u
#define SECTIONS_WORD 8u
#define SECTION_COUNT_WORD 12u
#define SECTION_WORDS 10u

enum section_word {
    SECTION_TYPE = 1,
    SECTION_FLAGS = 2,
    SECTION_ADDRESS = 3,
    SECTION_OFFSET = 4,
    SECTION_SIZE = 5
};

#define HAS_CONTENT 1u
#define ALLOCATED 2u

/* Its address is the number of bytes to bring; the linker script defines it where there are any. */
extern const uint8_t tilewright_deferred_bytes[] __attribute__((weak));

static const char program[] = TILEWRIGHT_PROGRAM_FILE;

static _Noreturn void fail(const char *what)
{
    tilewright_console_write(what);
    tilewright_console_write(" " TILEWRIGHT_PROGRAM_FILE
                             " in the simulator's folder, for constants in HyperRAM\n");
    tilewright_exit(TILEWRIGHT_LOAD_STATUS);
}

static uint32_t request(uint32_t operation, uint32_t first, uint32_t second, uint32_t third)
{
    const uint32_t block[3] = {first, second, third};
    return pulp_semihosting(operation, block);
}

static void read_at(uint32_t file, uint32_t offset, void *destination, uint32_t bytes)
{
    if (request(SEEK, file, offset, 0u) != 0u ||
        request(READ, file, (uint32_t)(uintptr_t)destination, bytes) != 0u) {
        fail("cannot read");
    }
}

static void store(uint32_t address, const uint8_t *piece, uint32_t bytes)
{
    static _Alignas(4) uint8_t stored[PIECE_BYTES];
    pulp_fence();
    pulp_hyper_copy(address, (tilewright_address_t)piece, 1u, bytes, 0, 0);
    pulp_hyper_copy((tilewright_address_t)stored, address, 1u, bytes, 0, 0);
    pulp_fence();
    for (uint32_t i = 0; i < bytes; i++) {
        if (((const volatile uint8_t *)stored)[i] != piece[i]) {
            fail("HyperRAM does not keep what was read from");
        }
    }
}

static void load_section(uint32_t file, uint32_t offset, uint32_t address, uint32_t bytes)
{
    static _Alignas(4) uint8_t piece[PIECE_BYTES];
    while (bytes > 0u) {
        const uint32_t part = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        read_at(file, offset, piece, part);
        store(address, piece, part);
        offset += part;
        address += part;
        bytes -= part;
    }
}

static void load_program(void)
{
    uint32_t header[HEADER_WORDS];
    const uint32_t file =
        request(OPEN, (uint32_t)(uintptr_t)program, READ_BINARY, sizeof program - 1u);
    if ((int32_t)file < 0) {
        fail("cannot open");
    }
    read_at(file, 0u, header, sizeof header);
    const uint32_t sections = header[SECTION_COUNT_WORD] & 0xffffu;
    for (uint32_t i = 0; i < sections; i++) {
        uint32_t section[SECTION_WORDS];
        read_at(file, header[SECTIONS_WORD] + i * (uint32_t)sizeof section, section,
                sizeof section);
        if (section[SECTION_TYPE] == HAS_CONTENT && (section[SECTION_FLAGS] & ALLOCATED) == 0u &&
            pulp_is_hyper(section[SECTION_ADDRESS])) {
            load_section(file, section[SECTION_OFFSET], section[SECTION_ADDRESS],
                         section[SECTION_SIZE]);
        }
    }
}

void tilewright_load_hyper(void)
{
    if ((uintptr_t)tilewright_deferred_bytes != 0u) {
        load_program();
    }
}

/* Start-up of this port runs constructors on the fabric controller. */
__attribute__((constructor)) static void load_before_main(void)
{
    tilewright_load_hyper();
}
