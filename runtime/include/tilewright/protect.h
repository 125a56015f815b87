/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that run without the right to touch more memory than they need. Ports may offer it. */
#ifndef TILEWRIGHT_PROTECT_H
#define TILEWRIGHT_PROTECT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that a layer reads, and writes where `is_writable` is not 0. The port rounds both ends
 * outwards to its granule. */
struct tilewright_region {
    uintptr_t address;
    uint32_t size_bytes;
    uint32_t is_writable;
};

enum tilewright_access {
    TILEWRIGHT_ACCESS_READ,
    TILEWRIGHT_ACCESS_WRITE,
    TILEWRIGHT_ACCESS_EXECUTE,
    TILEWRIGHT_ACCESS_OTHER /* no access: an instruction that layers may not execute */
};

/* The access that ended a layer: its kind, the byte's address, and the instruction's address.
 * `layer` is the layer's name. */
struct tilewright_violation {
    const char *layer;
    uintptr_t address;
    uintptr_t instruction;
    enum tilewright_access access;
};

/* What tilewright_protected returns when `work` did not return. */
#define TILEWRIGHT_VIOLATED (-1)      /* it was ended, and `violation` says why */
#define TILEWRIGHT_NOT_PROTECTED (-2) /* it was not called: the regions cannot be protected */

/* Call work(argument) on the stack of the caller, and return what it returns, which is not below 0.
 * `work` and what it calls execute the program's code, and read the `count` regions and the
 * program's read-only data; constants of models are regions. They write the writable regions, and
 * at most `stack_bytes` of stack below the caller's. Any other access ends it. Interrupts wait
 * while it runs. */
int tilewright_protected(int (*work)(void *argument), void *argument,
                         const struct tilewright_region *regions, uint32_t count,
                         uint32_t stack_bytes, struct tilewright_violation *violation);

/* Called when a layer was ended, before the run returns <P>_VIOLATED. The port supplies a weak
 * default that does nothing. */
void tilewright_violated(const struct tilewright_violation *violation);

#ifdef __cplusplus
}
#endif

#endif
