/* SPDX-License-Identifier: Apache-2.0 */
#include "counting.h"
#include "memory.h"

#include <stddef.h>
#include <tilewright/copy_lines.h>

#define POISON 0x5au

struct copy {
    uint32_t link;
    tilewright_token_t token;
    tilewright_address_t destination;
    tilewright_address_t source;
    uint32_t lines;
    uint32_t line_bytes;
    int32_t destination_stride;
    int32_t source_stride;
};

struct allowed {
    uint32_t link;
    enum tilewright_counting_side side;
    struct counting_range range;
};

/* One harness tests one model at a time: a port has one owner. */
static struct {
    uint64_t bytes[TILEWRIGHT_COUNTING_LINKS];
    uint32_t copies[TILEWRIGHT_COUNTING_LINKS];
    uint32_t align_bytes[TILEWRIGHT_COUNTING_LINKS];
    bool through_port[TILEWRIGHT_COUNTING_LINKS];
    struct allowed allowed[TILEWRIGHT_COUNTING_RANGES];
    uint32_t allowed_count;
    struct copy pending[TILEWRIGHT_COUNTING_PENDING];
    uint32_t pending_count;
    uint32_t faults;
    const char *first_fault;
    bool late;
} state;

static tilewright_token_t last_token;
static bool is_asleep;

/* The linker turns calls of the port's functions into these, and these calls into the port's
 * (--wrap). */
tilewright_token_t __real_tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                                tilewright_address_t source, uint32_t lines,
                                                uint32_t line_bytes, int32_t destination_stride,
                                                int32_t source_stride);
enum tilewright_port_status __real_tilewright_copy_wait(uint32_t link, tilewright_token_t token);
tilewright_token_t __wrap_tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                                tilewright_address_t source, uint32_t lines,
                                                uint32_t line_bytes, int32_t destination_stride,
                                                int32_t source_stride);
enum tilewright_port_status __wrap_tilewright_copy_wait(uint32_t link, tilewright_token_t token);

static tilewright_address_t moved(tilewright_address_t address, int64_t bytes)
{
    return address + (tilewright_address_t)bytes;
}

/* All bytes between the lowest and the highest that strided lines touch. */
static struct counting_range span(tilewright_address_t address, int32_t stride,
                                  const struct copy *copy)
{
    int64_t reach = (int64_t)stride * ((int64_t)copy->lines - 1);
    struct counting_range range = {
        moved(address, reach < 0 ? reach : 0),
        moved(address, (reach > 0 ? reach : 0) + (int64_t)copy->line_bytes)};
    return range;
}

static bool is_allowed(uint32_t link, enum tilewright_counting_side side,
                       struct counting_range range)
{
    bool restricted = false;
    for (uint32_t i = 0; i < state.allowed_count; i++) {
        const struct allowed *entry = &state.allowed[i];
        if (entry->link == link && entry->side == side) {
            restricted = true;
            if (counting_contains(entry->range, range)) {
                return true;
            }
        }
    }
    return !restricted;
}

static const char *broken_rule(const struct copy *copy)
{
    if (copy->link >= TILEWRIGHT_COUNTING_LINKS) {
        return "unknown link";
    }
    if (copy->lines == 0u || copy->line_bytes == 0u) {
        return "empty copy";
    }
    if (copy->lines == 1u && (copy->destination_stride != 0 || copy->source_stride != 0)) {
        return "stride of a single line";
    }
    uint32_t align_bytes = state.align_bytes[copy->link];
    tilewright_address_t bits = copy->destination | copy->source | copy->line_bytes |
                                (uint32_t)copy->destination_stride | (uint32_t)copy->source_stride;
    if (align_bytes != 0u && (bits & (align_bytes - 1u)) != 0u) {
        return "alignment";
    }
    struct counting_range destination = span(copy->destination, copy->destination_stride, copy);
    struct counting_range source = span(copy->source, copy->source_stride, copy);
    if (counting_overlap(destination, source)) {
        return "source and destination overlap";
    }
    if (!is_allowed(copy->link, TILEWRIGHT_COUNTING_DESTINATION, destination)) {
        return "destination out of range";
    }
    if (!is_allowed(copy->link, TILEWRIGHT_COUNTING_SOURCE, source)) {
        return "source out of range";
    }
    bool torn = false;
    (void)counting_memory_mask(destination, &torn);
    (void)counting_memory_mask(source, &torn);
    return torn ? "copy crosses the edge of protected memory" : NULL;
}

static void perform(const struct copy *copy)
{
    bool torn = false;
    uint8_t mask =
        counting_memory_mask(span(copy->destination, copy->destination_stride, copy), &torn);
    mask ^= counting_memory_mask(span(copy->source, copy->source_stride, copy), &torn);
    if (state.through_port[copy->link]) {
        (void)__real_tilewright_copy_wait(
            copy->link, __real_tilewright_copy_start(
                            copy->link, copy->destination, copy->source, copy->lines,
                            copy->line_bytes, copy->destination_stride, copy->source_stride));
    } else {
        tilewright_copy_lines(copy->destination, copy->source, copy->lines, copy->line_bytes,
                              copy->destination_stride, copy->source_stride);
    }
    for (uint32_t line = 0; mask != 0u && line < copy->lines; line++) {
        counting_memory_flip(moved(copy->destination, (int64_t)line * copy->destination_stride),
                             copy->line_bytes, mask);
    }
}

static void poison(const struct copy *copy)
{
    if (counting_memory_is_beyond(span(copy->destination, copy->destination_stride, copy))) {
        return;
    }
    for (uint32_t line = 0; line < copy->lines; line++) {
        tilewright_address_t start =
            moved(copy->destination, (int64_t)line * copy->destination_stride);
        for (uint32_t i = 0; i < copy->line_bytes; i++) {
            ((uint8_t *)start)[i] = POISON;
        }
    }
}

/* Make the pending copies of a link, oldest first, up to and including `token`. */
static void complete(uint32_t link, tilewright_token_t token)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < state.pending_count; i++) {
        struct copy copy = state.pending[i];
        if (copy.link == link && (int32_t)(token - copy.token) >= 0) {
            perform(&copy);
            continue;
        }
        state.pending[kept] = copy;
        kept++;
    }
    state.pending_count = kept;
}

static void start_late(const struct copy *copy)
{
    if (state.pending_count == TILEWRIGHT_COUNTING_PENDING) {
        complete(state.pending[0].link, state.pending[0].token);
    }
    poison(copy);
    state.pending[state.pending_count] = *copy;
    state.pending_count++;
}

static bool copies_itself(void)
{
    return state.late || counting_memory_is_hidden();
}

/* Apart from the wrapped function, which then has no frame of its own while asleep. */
__attribute__((noinline)) static tilewright_token_t
watched_start(uint32_t link, tilewright_address_t destination, tilewright_address_t source,
              uint32_t lines, uint32_t line_bytes, int32_t destination_stride,
              int32_t source_stride)
{
    struct copy copy = {link,  last_token + 1u, destination,        source,
                        lines, line_bytes,      destination_stride, source_stride};
    const char *rule = broken_rule(&copy);
    if (rule != NULL) {
        state.first_fault = state.faults == 0u ? rule : state.first_fault;
        state.faults++;
        return TILEWRIGHT_NO_COPY;
    }
    state.bytes[link] += (uint64_t)lines * line_bytes;
    state.copies[link]++;
    if (!copies_itself()) {
        return __real_tilewright_copy_start(link, destination, source, lines, line_bytes,
                                            destination_stride, source_stride);
    }
    if (copy.token == TILEWRIGHT_NO_COPY) {
        copy.token++;
    }
    last_token = copy.token;
    if (state.late) {
        start_late(&copy);
    } else {
        perform(&copy);
    }
    return copy.token;
}

tilewright_token_t __wrap_tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                                tilewright_address_t source, uint32_t lines,
                                                uint32_t line_bytes, int32_t destination_stride,
                                                int32_t source_stride)
{
    if (is_asleep) {
        return __real_tilewright_copy_start(link, destination, source, lines, line_bytes,
                                            destination_stride, source_stride);
    }
    return watched_start(link, destination, source, lines, line_bytes, destination_stride,
                         source_stride);
}

__attribute__((noinline)) static enum tilewright_port_status watched_wait(uint32_t link,
                                                                          tilewright_token_t token)
{
    if (state.faults != 0u) {
        return TILEWRIGHT_PORT_FAULT;
    }
    if (token == TILEWRIGHT_NO_COPY) {
        return TILEWRIGHT_PORT_OK;
    }
    if (!copies_itself()) {
        return __real_tilewright_copy_wait(link, token);
    }
    tilewright_idle();
    complete(link, token);
    return TILEWRIGHT_PORT_OK;
}

enum tilewright_port_status __wrap_tilewright_copy_wait(uint32_t link, tilewright_token_t token)
{
    return is_asleep ? __real_tilewright_copy_wait(link, token) : watched_wait(link, token);
}

void tilewright_counting_sleep(bool enabled)
{
    is_asleep = enabled;
}

uint64_t tilewright_port_link_bytes(uint32_t link)
{
    return link < TILEWRIGHT_COUNTING_LINKS ? state.bytes[link] : 0u;
}

uint32_t tilewright_port_link_copies(uint32_t link)
{
    return link < TILEWRIGHT_COUNTING_LINKS ? state.copies[link] : 0u;
}

void tilewright_port_reset(void)
{
    for (uint32_t link = 0; link < TILEWRIGHT_COUNTING_LINKS; link++) {
        state.bytes[link] = 0;
        state.copies[link] = 0;
        state.align_bytes[link] = 0;
        state.through_port[link] = false;
    }
    state.allowed_count = 0;
    state.pending_count = 0;
    state.faults = 0;
    state.first_fault = NULL;
    state.late = false;
}

bool tilewright_counting_align(uint32_t link, uint32_t align_bytes)
{
    if (link >= TILEWRIGHT_COUNTING_LINKS || (align_bytes & (align_bytes - 1u)) != 0u) {
        return false;
    }
    state.align_bytes[link] = align_bytes;
    return true;
}

bool tilewright_counting_allow(uint32_t link, enum tilewright_counting_side side,
                               tilewright_address_t address, uint32_t size_bytes)
{
    if (link >= TILEWRIGHT_COUNTING_LINKS || state.allowed_count == TILEWRIGHT_COUNTING_RANGES) {
        return false;
    }
    struct allowed entry = {link, side, {address, address + size_bytes}};
    state.allowed[state.allowed_count] = entry;
    state.allowed_count++;
    return true;
}

bool tilewright_counting_through_port(uint32_t link)
{
    if (link >= TILEWRIGHT_COUNTING_LINKS) {
        return false;
    }
    state.through_port[link] = true;
    return true;
}

void tilewright_counting_late(bool enabled)
{
    state.late = enabled;
}

uint32_t tilewright_counting_pending(void)
{
    return state.pending_count;
}

uint32_t tilewright_counting_faults(void)
{
    return state.faults;
}

const char *tilewright_counting_first_fault(void)
{
    return state.first_fault;
}
