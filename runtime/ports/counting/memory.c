/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include "counting.h"

#define SCRAMBLE 0xa5u

static struct counting_range hidden[TILEWRIGHT_COUNTING_RANGES];
static uint32_t hidden_count;

/* Memory that the core cannot reach. */
static struct counting_range beyond[TILEWRIGHT_COUNTING_RANGES];
static uint32_t beyond_count;

bool counting_memory_is_hidden(void)
{
    return hidden_count != 0u;
}

uint8_t counting_memory_mask(struct counting_range range, bool *torn)
{
    for (uint32_t i = 0; i < hidden_count; i++) {
        if (counting_contains(hidden[i], range)) {
            return SCRAMBLE;
        }
        if (counting_overlap(hidden[i], range)) {
            *torn = true;
        }
    }
    return 0;
}

bool counting_memory_is_beyond(struct counting_range range)
{
    for (uint32_t i = 0; i < beyond_count; i++) {
        if (counting_overlap(beyond[i], range)) {
            return true;
        }
    }
    return false;
}

void counting_memory_flip(tilewright_address_t address, uint32_t bytes, uint8_t mask)
{
    if (counting_memory_is_beyond((struct counting_range){address, address + bytes})) {
        return;
    }
    uint8_t *byte = (uint8_t *)address;
    for (uint32_t i = 0; i < bytes; i++) {
        byte[i] = (uint8_t)(byte[i] ^ mask);
    }
}

bool tilewright_counting_protect(tilewright_address_t address, uint32_t size_bytes)
{
    struct counting_range range = {address, address + size_bytes};
    if (hidden_count == TILEWRIGHT_COUNTING_RANGES || size_bytes == 0u) {
        return false;
    }
    for (uint32_t i = 0; i < hidden_count; i++) {
        if (counting_overlap(hidden[i], range)) {
            return false;
        }
    }
    hidden[hidden_count] = range;
    hidden_count++;
    counting_memory_flip(address, size_bytes, SCRAMBLE);
    return true;
}

bool tilewright_counting_unprotect(tilewright_address_t address, uint32_t size_bytes)
{
    for (uint32_t i = 0; i < hidden_count; i++) {
        if (hidden[i].start == address && hidden[i].end == address + size_bytes) {
            hidden_count--;
            hidden[i] = hidden[hidden_count];
            counting_memory_flip(address, size_bytes, SCRAMBLE);
            return true;
        }
    }
    return false;
}

bool tilewright_counting_beyond(tilewright_address_t address, uint32_t size_bytes)
{
    if (beyond_count == TILEWRIGHT_COUNTING_RANGES || size_bytes == 0u) {
        return false;
    }
    beyond[beyond_count] = (struct counting_range){address, address + size_bytes};
    beyond_count++;
    return true;
}
