/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that happen only when they, or later ones over the same link, are waited for: the
 * destination holds a pattern until then. A wait for a copy that nobody started ends the program,
 * and so does a copy that nobody waited for by its end, or one that is no whole words of
 * late_port_word_bytes.
 */
#include <stdio.h>
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

/* In the order of their starts. */
static struct copy pending[PENDING];
static uint32_t pending_count;
static tilewright_token_t last = TILEWRIGHT_NO_COPY;

extern uint32_t late_port_word_bytes;
uint32_t late_port_word_bytes = 1u;

static void require_words(uint64_t destination, uint64_t source, uint32_t line_bytes,
                          int32_t destination_stride, int32_t source_stride)
{
    const uint64_t strides =
        (uint64_t)(int64_t)destination_stride | (uint64_t)(int64_t)source_stride;
    if (((destination | source | line_bytes | strides) & (late_port_word_bytes - 1u)) != 0u) {
        (void)fprintf(stderr, "late port: no whole words of %u bytes\n", late_port_word_bytes);
        abort();
    }
}

tilewright_token_t tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                         tilewright_address_t source, uint32_t lines,
                                         uint32_t line_bytes, int32_t destination_stride,
                                         int32_t source_stride)
{
    require_words(destination, source, line_bytes, destination_stride, source_stride);
    for (uint32_t line = 0; line < lines; line++) {
        uint8_t *start = (uint8_t *)destination + (int64_t)line * destination_stride;
        memset(start, PATTERN, line_bytes);
    }
    if (pending_count == PENDING) {
        abort();
    }
    last++;
    pending[pending_count++] = (struct copy){last,  link,       destination,        source,
                                             lines, line_bytes, destination_stride, source_stride};
    return last;
}

enum tilewright_port_status tilewright_copy_wait(uint32_t link, tilewright_token_t token)
{
    if (token > last) {
        abort();
    }
    /* Copies over one link end in the order of their starts. */
    uint32_t left = 0;
    for (uint32_t i = 0; i < pending_count; i++) {
        const struct copy copy = pending[i];
        if (copy.link != link || copy.token > token) {
            pending[left++] = copy;
            continue;
        }
        tilewright_copy_lines(copy.destination, copy.source, copy.lines, copy.line_bytes,
                              copy.destination_stride, copy.source_stride);
    }
    pending_count = left;
    return TILEWRIGHT_PORT_OK;
}

/* For -DTILEWRIGHT_LAYER_HOOK: behind a layer no copy may be under way. */
void late_port_layer_done(uint32_t layer);
void late_port_layer_done(uint32_t layer)
{
    (void)layer;
    if (pending_count > 0) {
        abort();
    }
}

/* A copy for which nobody waited never happened. Under LATE_PORT_FORGETS the program goes on, for
 * tests of what the bits alone show. */
__attribute__((destructor)) static void require_all_waited_for(void)
{
    if (pending_count > 0 && getenv("LATE_PORT_FORGETS") == NULL) {
        abort();
    }
}
