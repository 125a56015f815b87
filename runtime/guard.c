/* SPDX-License-Identifier: Apache-2.0 */
#include <tilewright/guard.h>

#include <stddef.h>

/* Neighbours differ, so that neither a constant fill nor a copy of other canaries passes. */
static uint8_t canary(uint32_t offset)
{
    return (uint8_t)(0xA5u ^ (offset * 29u));
}

void tilewright_guards_set(const struct tilewright_guard *guards, uint32_t count,
                           uint8_t *const *pools, uint32_t layer)
{
    for (uint32_t i = 0; i < count; ++i) {
        const struct tilewright_guard *guard = &guards[i];
        if (guard->first == layer) {
            /* Volatile, because a compiler that sees all kernels knows that none writes here. */
            volatile uint8_t *bytes = pools[guard->pool] + guard->offset;
            for (uint32_t byte = 0; byte < guard->size_bytes; ++byte) {
                bytes[byte] = canary(guard->offset + byte);
            }
        }
    }
}

int tilewright_guards_check(const struct tilewright_guard *guards, uint32_t count,
                            uint8_t *const *pools, uint32_t layer, struct tilewright_spoilt *spoilt)
{
    for (uint32_t i = 0; i < count; ++i) {
        const struct tilewright_guard *guard = &guards[i];
        if (guard->first <= layer && layer <= guard->last) {
            const volatile uint8_t *bytes = pools[guard->pool] + guard->offset;
            for (uint32_t byte = 0; byte < guard->size_bytes; ++byte) {
                const uint8_t value = bytes[byte];
                if (value != canary(guard->offset + byte)) {
                    *spoilt = (struct tilewright_spoilt){layer + 1u, i, byte, value};
                    return 1;
                }
            }
        }
    }
    return 0;
}

struct tilewright_corruption tilewright_guards_told(const struct tilewright_guard *guards,
                                                    const char *const *layers,
                                                    const struct tilewright_spoilt *spoilt)
{
    struct tilewright_corruption told = {NULL, NULL, 0, 0, 0};
    if (spoilt->layer != 0u) {
        const struct tilewright_guard *guard = &guards[spoilt->guard];
        told.layer = layers[spoilt->layer - 1u];
        told.buffer = guard->buffer;
        told.byte = guard->at + (int32_t)spoilt->byte;
        told.expected = canary(guard->offset + spoilt->byte);
        told.found = (uint8_t)spoilt->value;
    }
    return told;
}
