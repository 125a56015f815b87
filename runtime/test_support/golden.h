/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a model with stored vectors on the target; generated tables say what and how. */
#ifndef TILEWRIGHT_GOLDEN_H
#define TILEWRIGHT_GOLDEN_H

#include <stdint.h>

enum golden_type {
    GOLDEN_FLOAT32,
    GOLDEN_INT8,
    GOLDEN_UINT8,
    GOLDEN_INT16,
    GOLDEN_UINT16,
    GOLDEN_INT32,
    GOLDEN_UINT32,
    GOLDEN_INT64
};

/* A tensor of the interface: its buffer, and its vectors, one after the other, little-endian. */
struct golden_tensor {
    const char *name;
    enum golden_type type;
    uint32_t count;
    uint32_t size_bytes;
    uint8_t *buffer;
    const uint8_t *vectors;
};

struct golden_pool {
    const char *name;
    uint32_t size_bytes;
};

/* Difference that is allowed: |got - want| <= absolute + relative * |want|. */
struct golden_test {
    const char *model;
    uint32_t runs;
    const struct golden_tensor *inputs;
    uint32_t input_count;
    const struct golden_tensor *outputs;
    uint32_t output_count;
    const struct golden_pool *pools;
    uint32_t pool_count;
    double absolute;
    double relative;
    int (*run)(void);
};

/* Runs the model on each vector, prints what differs, the instructions of each run (whatever
 * tilewright_cycles counts) and the pools. Returns 0 if all is within tolerance, else 1. */
int golden_main(const struct golden_test *test);

/* Called before and after each run. Weak defaults do nothing; a port that watches the run
 * replaces them. */
void tilewright_test_begin(void);
void tilewright_test_end(void);

#endif
