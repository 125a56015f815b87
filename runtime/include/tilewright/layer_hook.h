/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the application that are called between the layers of a run. */
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
#else
#define TILEWRIGHT_LAYER_DONE(layer) ((void)0)
#endif

/* With -DTILEWRIGHT_CANCEL=g generated code asks int g(void) before each layer, on the core that
 * runs the layers, when no copy is under way. The run ends with CANCELLED unless g returns 0. */
#ifdef TILEWRIGHT_CANCEL
#ifdef __cplusplus
extern "C"
#endif
    int
    TILEWRIGHT_CANCEL(void);
#define TILEWRIGHT_IS_CANCELLED() (TILEWRIGHT_CANCEL() != 0)
#else
#define TILEWRIGHT_IS_CANCELLED() 0
#endif

/* Whether the application looks at the model between two layers, so that no copy may be under way.
 */
#if defined TILEWRIGHT_LAYER_HOOK || defined TILEWRIGHT_CANCEL
#define TILEWRIGHT_LAYER_IS_WATCHED 1
#else
#define TILEWRIGHT_LAYER_IS_WATCHED 0
#endif

#endif
