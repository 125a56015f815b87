/* SPDX-License-Identifier: Apache-2.0 */
/* Canaries beside the buffers of a model: bytes that nothing writes while a layer runs. */
#ifndef TILEWRIGHT_GUARD_H
#define TILEWRIGHT_GUARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A canary that was not what it must be behind a layer. `buffer` is the plan's name of the buffer
 * beside which it lies, or "pool <name>" at the ends of a pool, and `byte` counts from there: the
 * bytes below a buffer are negative, the first one behind it is its size. `layer` is NULL if the
 * last run found no such canary. */
struct tilewright_corruption {
    const char *layer;
    const char *buffer;
    int32_t byte;
    uint8_t expected;
    uint8_t found;
};

/* Canaries in a row: `size_bytes` from `offset` of a pool on, the first of them byte `at` of
 * `buffer`. They stand while layers `first` to `last` run. */
struct tilewright_guard {
    const char *buffer;
    uint32_t offset;
    int32_t at;
    uint16_t size_bytes;
    uint16_t pool;
    uint16_t first;
    uint16_t last;
};

/* The record of a run: the number of the layer + 1 (0: no canary was spoilt), the position of the
 * canaries in the table, the byte among these, and the byte's value. */
struct tilewright_spoilt {
    uint32_t layer;
    uint32_t guard;
    uint32_t byte;
    uint32_t value;
};

/* Write the canaries that stand from layer `layer` on; `pools` are the addresses of pools. */
void tilewright_guards_set(const struct tilewright_guard *guards, uint32_t count,
                           uint8_t *const *pools, uint32_t layer);

/* Compare the canaries of layer `layer`: 0, or 1 when one differs, which is noted in `spoilt`. */
int tilewright_guards_check(const struct tilewright_guard *guards, uint32_t count,
                            uint8_t *const *pools, uint32_t layer,
                            struct tilewright_spoilt *spoilt);

/* The corruption that a run noted in `spoilt`, with the names of its buffer and its layer. */
struct tilewright_corruption tilewright_guards_told(const struct tilewright_guard *guards,
                                                    const char *const *layers,
                                                    const struct tilewright_spoilt *spoilt);

#ifdef __cplusplus
}
#endif

#endif
