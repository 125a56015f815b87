/* SPDX-License-Identifier: Apache-2.0 */
/* A layer over another port (-Wl,--wrap=tilewright_copy_start) with an engine that takes MOST_BYTES
 * bytes in one command, of one line with DIMENSIONS 1, and refuses more by ending the program;
 * prints how many commands each link got. */
#include <stdio.h>
#include <stdlib.h>
#include <tilewright/copy_commands.h>

#define LINKS 4u

tilewright_token_t __real_tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                                tilewright_address_t source, uint32_t lines,
                                                uint32_t line_bytes, int32_t destination_stride,
                                                int32_t source_stride);
tilewright_token_t __wrap_tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                                tilewright_address_t source, uint32_t lines,
                                                uint32_t line_bytes, int32_t destination_stride,
                                                int32_t source_stride);

static const struct tilewright_copy_limits limits = {DIMENSIONS, MOST_BYTES};
static unsigned commands[LINKS];

static void print_counts(void)
{
    for (unsigned link = 0; link < LINKS; link++) {
        printf("commands %u: %u\n", link, commands[link]);
    }
}

static void make(uint32_t link, const struct tilewright_copy *command)
{
    if ((DIMENSIONS < 2 && command->lines > 1u) ||
        (MOST_BYTES > 0 && (uint64_t)command->lines * command->line_bytes > MOST_BYTES)) {
        abort();
    }
    __real_tilewright_copy_start(link, command->destination, command->source, command->lines,
                                 command->line_bytes, command->destination_stride,
                                 command->source_stride);
}

tilewright_token_t __wrap_tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                                tilewright_address_t source, uint32_t lines,
                                                uint32_t line_bytes, int32_t destination_stride,
                                                int32_t source_stride)
{
    static int is_registered;
    if (is_registered == 0 && atexit(print_counts) == 0) {
        is_registered = 1;
    }
    struct tilewright_copy_rest rest = {
        {destination, source, lines, line_bytes, destination_stride, source_stride}, 0u};
    struct tilewright_copy command;
    while (tilewright_copy_next(&rest, limits, &command) != 0) {
        make(link, &command);
        commands[link]++;
    }
    return TILEWRIGHT_NO_COPY + 1u;
}
