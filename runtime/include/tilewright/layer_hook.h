/* SPDX-License-Identifier: Apache-2.0 */
/* A function of the application that is called behind each layer of a run. */
#ifndef TILEWRIGHT_LAYER_HOOK_H
#define TILEWRIGHT_LAYER_HOOK_H

#include <stdint.h>

/* With -DTILEWRIGHT_LAYER_HOOK=f generated code calls f(n) when layer n (counted from 0) is done
 * and all its copies are complete, on the core that ran the layer: for watchdogs, yields,
 * comparisons. For layers that run together in one function, f is called when all are done. */
#ifdef TILEWRIGHT_LAYER_HOOK
#ifdef __cplusplus
extern "C"
#endif
    void
    TILEWRIGHT_LAYER_HOOK(uint32_t layer);
#define TILEWRIGHT_LAYER_DONE(layer) TILEWRIGHT_LAYER_HOOK((uint32_t)(layer))
#define TILEWRIGHT_LAYER_IS_HOOKED 1
#else
#define TILEWRIGHT_LAYER_DONE(layer) ((void)0)
#define TILEWRIGHT_LAYER_IS_HOOKED 0
#endif

#endif
