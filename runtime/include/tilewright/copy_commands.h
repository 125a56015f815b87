/* SPDX-License-Identifier: Apache-2.0 */
/* For ports: a copy cut into commands that an engine can take. python/tilewright/plan/copies.py
 * counts the commands; change both together. */
#ifndef TILEWRIGHT_COPY_COMMANDS_H
#define TILEWRIGHT_COPY_COMMANDS_H

#include <stddef.h>
#include <stdint.h>
#include <tilewright/port.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The parameters of tilewright_copy_start, without the link. */
struct tilewright_copy {
    tilewright_address_t destination;
    tilewright_address_t source;
    uint32_t lines;
    uint32_t line_bytes;
    int32_t destination_stride;
    int32_t source_stride;
};

/* The part of a copy for which no command was taken yet; begins as {copy, 0}. */
struct tilewright_copy_rest {
    struct tilewright_copy copy;
    uint32_t line_done_bytes;
};

/* The limits of one command, as in the platform file; max_bytes 0: no limit. */
struct tilewright_copy_limits {
    uint32_t dimensions;
    uint32_t max_bytes;
};

static inline void tilewright_copy_skip(struct tilewright_copy *copy, uint32_t lines)
{
    copy->lines -= lines;
    copy->destination += (tilewright_address_t)((ptrdiff_t)lines * copy->destination_stride);
    copy->source += (tilewright_address_t)((ptrdiff_t)lines * copy->source_stride);
}

/* Takes the next command off `rest`; returns 0 if nothing is left. A command has one line if the
 * engine has one dimension, else as many lines as max_bytes allow. A line of more than max_bytes is
 * cut into pieces, a command each. A command of one line has strides 0. */
static inline int tilewright_copy_next(struct tilewright_copy_rest *rest,
                                       struct tilewright_copy_limits limits,
                                       struct tilewright_copy *command)
{
    struct tilewright_copy *copy = &rest->copy;
    if (copy->lines == 0u) {
        return 0;
    }
    const uint32_t most = limits.max_bytes != 0u ? limits.max_bytes : UINT32_MAX;
    *command = *copy;
    if (copy->line_bytes > most) {
        const uint32_t left = copy->line_bytes - rest->line_done_bytes;
        command->destination += rest->line_done_bytes;
        command->source += rest->line_done_bytes;
        command->line_bytes = left < most ? left : most;
        command->lines = 1u;
        rest->line_done_bytes += command->line_bytes;
        if (rest->line_done_bytes == copy->line_bytes) {
            rest->line_done_bytes = 0u;
            tilewright_copy_skip(copy, 1u);
        }
    } else {
        const uint32_t together = limits.dimensions > 1u ? most / copy->line_bytes : 1u;
        command->lines = copy->lines < together ? copy->lines : together;
        tilewright_copy_skip(copy, command->lines);
    }
    if (command->lines == 1u) {
        command->destination_stride = 0;
        command->source_stride = 0;
    }
    return 1;
}

#ifdef __cplusplus
}
#endif

#endif
