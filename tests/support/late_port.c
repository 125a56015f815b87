/* SPDX-License-Identifier: Apache-2.0 */
/* A port whose copies happen only when they, or later ones over the same link, are waited for: the
 * destination holds a pattern until then. A wait for a copy that nobody started ends the program.
 */
#include <stdlib.h>
#include <string.h>
#include <tilewright/copy_lines.h>
#include <tilewright/port.h>

#define PENDING 1024u
#define PATTERN 0x5a

struct copy {
    tilewright_token_t token;
    uint32_t link;
    tilewright_address_t destination;
    tilewright_address_t source;
    uint32_t lines;
    uint32_t line_bytes;
    int32_t destination_stride;
    int32_t source_stride;
};

static struct copy pending[PENDING];
static tilewright_token_t last = TILEWRIGHT_NO_COPY;

tilewright_token_t tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                         tilewright_address_t source, uint32_t lines,
                                         uint32_t line_bytes, int32_t destination_stride,
                                         int32_t source_stride)
{
    for (uint32_t line = 0; line < lines; line++) {
        uint8_t *start = (uint8_t *)destination + (int64_t)line * destination_stride;
        memset(start, PATTERN, line_bytes);
    }
    for (uint32_t i = 0; i < PENDING; i++) {
        if (pending[i].token == TILEWRIGHT_NO_COPY) {
            last++;
            pending[i] = (struct copy){last,  link,       destination,        source,
                                       lines, line_bytes, destination_stride, source_stride};
            return last;
        }
    }
    abort();
}

/* The first copy that is pending on a link, if it is not behind the token. */
static struct copy *first_until(uint32_t link, tilewright_token_t token)
{
    struct copy *first = NULL;
    for (uint32_t i = 0; i < PENDING; i++) {
        struct copy *copy = &pending[i];
        if (copy->token != TILEWRIGHT_NO_COPY && copy->link == link && copy->token <= token &&
            (first == NULL || copy->token < first->token)) {
            first = copy;
        }
    }
    return first;
}

enum tilewright_port_status tilewright_copy_wait(uint32_t link, tilewright_token_t token)
{
    if (token > last) {
        abort();
    }
    /* Copies over one link end in the order of their starts. */
    for (struct copy *copy = first_until(link, token); copy != NULL;
         copy = first_until(link, token)) {
        tilewright_copy_lines(copy->destination, copy->source, copy->lines, copy->line_bytes,
                              copy->destination_stride, copy->source_stride);
        copy->token = TILEWRIGHT_NO_COPY;
    }
    return TILEWRIGHT_PORT_OK;
}

void tilewright_fork(uint32_t cores, void (*work)(void *argument), void *argument)
{
    (void)cores;
    work(argument);
}

void tilewright_barrier(void)
{
}

uint32_t tilewright_core_id(void)
{
    return 0;
}

uint32_t tilewright_cycles(void)
{
    return 0;
}
