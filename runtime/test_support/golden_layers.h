/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what each layer wrote with references, and names the first layer that differs. */
#ifndef TILEWRIGHT_GOLDEN_LAYERS_H
#define TILEWRIGHT_GOLDEN_LAYERS_H

#include "golden.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor where it lies behind layer `layer`, and its references: one after the other for each
 * run, packed in the order of the axes, little-endian. Extents count elements, strides bytes. */
struct golden_layer_tensor {
    uint32_t layer;
    const char *layer_name;
    struct golden_tensor tensor;
    uint32_t rank;
    const uint32_t *extents;
    const int32_t *strides;
};

/* The model's tensors in the order of their layers, and how many runs have references. */
extern const struct golden_layer_tensor golden_layer_tensors[];
extern const uint32_t golden_layer_tensor_count;
extern const uint32_t golden_layer_runs;

/* Generated code calls this behind each layer. */
void golden_layer_done(uint32_t layer);

#ifdef __cplusplus
}
#endif

#endif
