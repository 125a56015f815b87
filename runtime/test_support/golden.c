/* SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tilewright/port.h>

/* Elements that are printed for each output of each run: the worst. */
#define SHOWN 3u

/* Distance of a NaN from a number. */
#define HUGE_DISTANCE 1e300

/* The byte that fills an output before a run, so that an element which nothing writes differs. */
#define UNWRITTEN 0xa5

struct element {
    uint32_t index;
    double distance;
};

struct difference {
    uint32_t wrong;
    uint32_t unequal;
    uint32_t off_by_one;
    double largest;
    struct element worst[SHOWN]; /* of those that are wrong, the worst first */
};

__attribute__((weak)) void golden_watch_sleep(void)
{
}

__attribute__((weak)) int golden_watch_begin(const struct golden_test *test)
{
    (void)test;
    return 0;
}

__attribute__((weak)) uint32_t golden_watch_end(const struct golden_test *test)
{
    (void)test;
    return 0;
}

__attribute__((weak)) void golden_layers_begin(const struct golden_test *test, uint32_t run)
{
    (void)test;
    (void)run;
}

__attribute__((weak)) uint32_t golden_layers_end(const struct golden_test *test)
{
    (void)test;
    return 0;
}

static int64_t integer_at(enum golden_type type, const uint8_t *bytes, uint32_t size)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < size; i++) {
        value |= (uint64_t)bytes[i] << (8u * i);
    }
    const uint64_t sign = (uint64_t)1 << (8u * size - 1u);
    const int is_signed = type == GOLDEN_INT8 || type == GOLDEN_INT16 || type == GOLDEN_INT32;
    if (is_signed && (value & sign) != 0u) {
        return -(int64_t)(sign - (value ^ sign));
    }
    return (int64_t)value;
}

double golden_number_at(enum golden_type type, const uint8_t *bytes, uint32_t size)
{
    if (type != GOLDEN_FLOAT32) {
        return (double)integer_at(type, bytes, size);
    }
    float value;
    memcpy(&value, bytes, sizeof value);
    return (double)value;
}

static double magnitude(double value)
{
    return value < 0.0 ? -value : value;
}

static int is_nan(double value)
{
    return !(value <= 0.0) && !(value >= 0.0);
}

static int is_infinite(double value)
{
    return !is_nan(value) && is_nan(value - value);
}

int golden_is_close(const struct golden_test *test, double got, double want)
{
    if (is_nan(got) || is_nan(want)) {
        return is_nan(got) && is_nan(want);
    }
    if (is_infinite(got) || is_infinite(want)) {
        return is_infinite(got) && is_infinite(want) && (got > 0.0) == (want > 0.0);
    }
    return magnitude(got - want) <= test->absolute + test->relative * magnitude(want);
}

/* Keeps an element among the worst of an output; NaN is worse than any number. */
static void remember(struct difference *found, uint32_t index, double distance)
{
    struct element last = {index, is_nan(distance) ? HUGE_DISTANCE : distance};
    const uint32_t kept = found->wrong < SHOWN ? found->wrong : SHOWN;
    uint32_t place = 0;
    while (place < kept && found->worst[place].distance >= last.distance) {
        place++;
    }
    for (; place < SHOWN; place++) {
        const struct element next = found->worst[place];
        found->worst[place] = last;
        last = next;
    }
    found->wrong++;
}

static struct difference compare(const struct golden_test *test, const struct golden_tensor *output,
                                 uint32_t run)
{
    struct difference found = {0, 0, 0, 0.0, {{0, 0.0}}};
    const uint32_t size = output->size_bytes / output->count;
    const uint8_t *wanted = output->vectors + run * output->size_bytes;
    for (uint32_t i = 0; i < output->count; i++) {
        if (memcmp(output->buffer + i * size, wanted + i * size, size) == 0) {
            continue;
        }
        found.unequal++;
        const double got = golden_number_at(output->type, output->buffer + i * size, size);
        const double want = golden_number_at(output->type, wanted + i * size, size);
        const double distance = magnitude(got - want);
        if (distance > found.largest) {
            found.largest = distance;
        }
        if (output->type != GOLDEN_FLOAT32 && magnitude(distance - 1.0) < 0.5) {
            found.off_by_one++;
        }
        /* Integers that a double cannot tell apart differ all the same. */
        const int is_same_number = output->type != GOLDEN_FLOAT32 && !(distance > 0.0);
        if (is_same_number || !golden_is_close(test, got, want)) {
            remember(&found, i, distance);
        }
    }
    for (uint32_t i = 0; i < found.wrong && i < SHOWN; i++) {
        const uint32_t at = found.worst[i].index * size;
        printf("  run %" PRIu32 ": %s[%" PRIu32 "]: got %.9g, want %.9g\n", run, output->name,
               found.worst[i].index, golden_number_at(output->type, output->buffer + at, size),
               golden_number_at(output->type, wanted + at, size));
    }
    return found;
}

static uint32_t compare_all(const struct golden_test *test, uint32_t run)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < test->output_count; i++) {
        const struct golden_tensor *output = &test->outputs[i];
        const struct difference found = compare(test, output, run);
        printf("run %" PRIu32 ": %s: %" PRIu32 " of %" PRIu32 " beyond tolerance, %" PRIu32
               " unequal, largest difference %.9g, off-by-one: %" PRIu32 " of %" PRIu32 "\n",
               run, output->name, found.wrong, output->count, found.unequal, found.largest,
               found.off_by_one, output->count);
        wrong += found.wrong;
    }
    return wrong;
}

/* FNV-1a over the bytes of all outputs: equal lines of two programs mean equal outputs. */
static void print_checksum(const struct golden_test *test, uint32_t run)
{
    uint32_t sum = 2166136261u;
    for (uint32_t i = 0; i < test->output_count; i++) {
        for (uint32_t k = 0; k < test->outputs[i].size_bytes; k++) {
            sum = (sum ^ test->outputs[i].buffer[k]) * 16777619u;
        }
    }
    printf("run %" PRIu32 ": checksum %08" PRIx32 "\n", run, sum);
}

static void prepare(const struct golden_test *test, uint32_t run)
{
    /* In pools an output may share memory with an input, so inputs come last. */
    for (uint32_t i = 0; i < test->output_count; i++) {
        memset(test->outputs[i].buffer, UNWRITTEN, test->outputs[i].size_bytes);
    }
    for (uint32_t i = 0; i < test->input_count; i++) {
        const struct golden_tensor *input = &test->inputs[i];
        memcpy(input->buffer, input->vectors + run * input->size_bytes, input->size_bytes);
    }
}

static uint32_t changed_inputs(const struct golden_test *test, uint32_t run)
{
    uint32_t changed = 0;
    if (!test->keeps_inputs) {
        return 0;
    }
    for (uint32_t i = 0; i < test->input_count; i++) {
        const struct golden_tensor *input = &test->inputs[i];
        const uint8_t *vector = input->vectors + run * input->size_bytes;
        if (memcmp(input->buffer, vector, input->size_bytes) != 0) {
            printf("run %" PRIu32 ": input %s was written\n", run, input->name);
            changed++;
        }
    }
    return changed;
}

static int is_wrong(const struct golden_test *test, uint32_t run, int status)
{
    if (status != 0) {
        printf("run %" PRIu32 ": the model returned status %d\n", run, status);
    }
    const uint32_t wrong = run < test->early_runs ? 0u : compare_all(test, run);
    return status != 0 || changed_inputs(test, run) != 0u || wrong != 0u;
}

static int run_measured(const struct golden_test *test, uint32_t run)
{
    prepare(test, run);
    golden_layers_begin(test, run);
    const uint32_t before = tilewright_cycles();
    const int status = test->run();
    const uint32_t after = tilewright_cycles();
    printf("run %" PRIu32 ": %s %" PRIu32 "\n", run, test->unit, after - before);
    print_checksum(test, run);
    const uint32_t differing = golden_layers_end(test);
    return is_wrong(test, run, status) || differing != 0u;
}

static void reset(const struct golden_test *test)
{
    if (test->reset != NULL) {
        test->reset();
    }
}

static int run_watched(const struct golden_test *test)
{
    reset(test);
    prepare(test, 0);
    if (golden_watch_begin(test) == 0) {
        return 0;
    }
    const int status = test->run();
    const uint32_t broken = golden_watch_end(test);
    printf("watched run: %s\n", broken == 0u ? "kept the rules" : "BROKE THE RULES");
    return is_wrong(test, 0, status) || broken != 0u;
}

void golden_put(const char *text, void *argument)
{
    (void)argument;
    printf("%s", text);
}

int golden_main(const struct golden_test *test)
{
    uint32_t failures = 0;
    for (uint32_t i = 0; i < test->pool_count; i++) {
        printf("pool %s: %" PRIu32 " bytes\n", test->pools[i].name, test->pools[i].size_bytes);
    }
    golden_watch_sleep();
    reset(test);
    for (uint32_t run = 0; run < test->runs; run++) {
        if (run_measured(test, run) != 0) {
            failures++;
        }
    }
    if (test->print_profile != NULL) {
        test->print_profile(test->unit);
    }
    if (run_watched(test) != 0) {
        failures++;
    }
    printf("golden %s: %s, %" PRIu32 " failures in %" PRIu32 " runs\n", test->model,
           failures == 0u ? "pass" : "FAIL", failures, test->runs);
    return failures == 0u ? 0 : 1;
}
