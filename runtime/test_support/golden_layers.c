/* SPDX-License-Identifier: Apache-2.0 */
#include "golden_layers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The test and the run that are compared: the hook gets only a layer's number. */
static struct {
    const struct golden_test *test;
    uint32_t run;
    uint32_t compared;
    int differs;
} state;

/* Offset in memory of an element that is counted in the order of the axes. */
static int32_t offset_of(const struct golden_layer_tensor *item, uint32_t number)
{
    int32_t offset = 0;
    for (uint32_t axis = item->rank; axis-- > 0u;) {
        offset += (int32_t)(number % item->extents[axis]) * item->strides[axis];
        number /= item->extents[axis];
    }
    return offset;
}

static void print_position(const struct golden_layer_tensor *item, uint32_t number)
{
    uint32_t below = item->tensor.count;
    printf("[");
    for (uint32_t axis = 0; axis < item->rank; axis++) {
        below /= item->extents[axis];
        printf("%s%" PRIu32, axis == 0u ? "" : ", ", number / below);
        number %= below;
    }
    printf("]");
}

static int element_differs(const struct golden_layer_tensor *item, const uint8_t *got,
                           const uint8_t *want, uint32_t size)
{
    if (memcmp(got, want, size) == 0) {
        return 0;
    }
    if (item->tensor.type != GOLDEN_FLOAT32) {
        return 1;
    }
    return !golden_is_close(state.test, golden_number_at(item->tensor.type, got, size),
                            golden_number_at(item->tensor.type, want, size));
}

static void compare(const struct golden_layer_tensor *item)
{
    const uint32_t size = item->tensor.size_bytes / item->tensor.count;
    const uint8_t *references = item->tensor.vectors + state.run * item->tensor.size_bytes;
    uint32_t wrong = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < item->tensor.count; i++) {
        const uint8_t *got = item->tensor.buffer + offset_of(item, i);
        if (element_differs(item, got, references + i * size, size) == 0) {
            continue;
        }
        if (wrong == 0u) {
            first = i;
        }
        wrong++;
    }
    state.compared++;
    if (wrong == 0u) {
        return;
    }
    state.differs = 1;
    printf("run %" PRIu32 ": the first layer that differs is %s\n", state.run, item->layer_name);
    printf("run %" PRIu32 ": its %s differs in %" PRIu32 " of %" PRIu32 " elements, first at ",
           state.run, item->tensor.name, wrong, item->tensor.count);
    print_position(item, first);
    printf(": got %.9g, want %.9g\n",
           golden_number_at(item->tensor.type, item->tensor.buffer + offset_of(item, first), size),
           golden_number_at(item->tensor.type, references + first * size, size));
}

void golden_layer_done(uint32_t layer)
{
    if (state.test == NULL) {
        return;
    }
    for (uint32_t i = 0; i < golden_layer_tensor_count && !state.differs; i++) {
        if (golden_layer_tensors[i].layer == layer) {
            compare(&golden_layer_tensors[i]);
        }
    }
}

void golden_layers_begin(const struct golden_test *test, uint32_t run)
{
    if (run < golden_layer_runs) {
        state.test = test;
        state.run = run;
        state.compared = 0;
        state.differs = 0;
    }
}

uint32_t golden_layers_end(const struct golden_test *test)
{
    if (state.test != test) {
        return 0;
    }
    state.test = NULL;
    if (state.differs) {
        return 1;
    }
    printf("run %" PRIu32 ": %" PRIu32 " of %" PRIu32
           " tensors between layers are as they should be\n",
           state.run, state.compared, golden_layer_tensor_count);
    return state.compared == golden_layer_tensor_count ? 0u : 1u;
}
