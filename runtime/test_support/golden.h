/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a model with stored vectors on the target; generated tables say what and how. */
#ifndef TILEWRIGHT_GOLDEN_H
#define TILEWRIGHT_GOLDEN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* Memory that kernels must not touch: only links reach it. */
struct golden_range {
    const void *start;
    uint32_t size_bytes;
    int beyond; /* the core cannot reach it */
};

struct golden_link {
    const char *name;
    uint32_t align_bytes;
    int through_port; /* its source is out of the core's reach */
};

/* Difference that is allowed: |got - want| <= absolute + relative * |want|. */
struct golden_test {
    const char *model;
    uint32_t runs;
    uint32_t early_runs; /* the first ones, of which no output is compared: a window is not full */
    const struct golden_tensor *inputs;
    uint32_t input_count;
    const struct golden_tensor *outputs;
    uint32_t output_count;
    const struct golden_pool *pools;
    uint32_t pool_count;
    const struct golden_range *far;
    uint32_t far_count;
    const struct golden_link *links;
    uint32_t link_count;
    double absolute;
    double relative;
    int keeps_inputs; /* 1: a run leaves inputs as they are; 0: inputs lie in pools */
    const char *unit; /* what tilewright_cycles counts */
    int (*run)(void);
    void (*reset)(void); /* sets states as before the first run; NULL: no states */
    void (*print_profile)(const char *unit); /* NULL if the model does not measure itself */
};

/* Prints text as it is; for tables that are put together piece by piece. */
void golden_put(const char *text, void *argument);

/* Runs the model on each vector, prints what differs, what each run took, the pools, and the
 * profile of the last run. Where golden_watch.c is linked the first vector runs
 * once more, watched, behind a reset. Returns 0 if all is within tolerance, else 1. */
int golden_main(const struct golden_test *test);

/* golden_watch.c, with the counting port: let copies through while runs are timed; hide far memory
 * and put copies off; then tell what went over the links. The end returns 0 if the model kept the
 * rules. Weak defaults return 0 from golden_watch_begin, which means that nothing is watched. */
void golden_watch_sleep(void);
int golden_watch_begin(const struct golden_test *test);
uint32_t golden_watch_end(const struct golden_test *test);

/* golden_layers.c, which compares what every layer writes in the runs that have references; the end
 * returns how many layers differ, at most the first. Weak defaults compare nothing. */
void golden_layers_begin(const struct golden_test *test, uint32_t run);
uint32_t golden_layers_end(const struct golden_test *test);

/* An element of `size` bytes as a number, and whether it is within the test's tolerance. */
double golden_number_at(enum golden_type type, const uint8_t *bytes, uint32_t size);
int golden_is_close(const struct golden_test *test, double got, double want);

#ifdef __cplusplus
}
#endif

#endif
