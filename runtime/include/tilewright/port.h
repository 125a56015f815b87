/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that a port supplies to generated code. docs/reference/port.md is the contract. */
#ifndef TILEWRIGHT_PORT_H
#define TILEWRIGHT_PORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An address that may lie in memory that no core can reach. */
typedef uintptr_t tilewright_address_t;

/* A token names one started copy. Copies over one link complete in the order in which they were
 * started, so a wait for a token waits for all earlier copies over that link too. */
typedef uint32_t tilewright_token_t;

/* The token of no copy: tilewright_copy_start never returns it, and a wait for it returns at once.
 */
#define TILEWRIGHT_NO_COPY 0u

enum tilewright_port_status { TILEWRIGHT_PORT_OK = 0, TILEWRIGHT_PORT_FAULT = 1 };

/* Start to copy `lines` lines of `line_bytes` over link `link` (its number in the plan).
 * Strides are bytes between the starts of lines; both are 0 when lines is 1. */
tilewright_token_t tilewright_copy_start(uint32_t link, tilewright_address_t destination,
                                         tilewright_address_t source, uint32_t lines,
                                         uint32_t line_bytes, int32_t destination_stride,
                                         int32_t source_stride);

/* Wait until the copy is complete; calls tilewright_idle while it waits. */
enum tilewright_port_status tilewright_copy_wait(uint32_t link, tilewright_token_t token);

/* Run `work(argument)` on cores 0 to `cores` - 1; returns when all calls have ended. The caller is
 * core 0, or a core that is none of these. */
void tilewright_fork(uint32_t cores, void (*work)(void *argument), void *argument);
void tilewright_barrier(void);

/* A fork in two halves, with the same arguments; between the halves the caller may start copies. By
 * default, if the port does not define these functions, the whole fork happens in the join. */
void tilewright_fork_start(uint32_t cores, void (*work)(void *argument), void *argument);
void tilewright_fork_join(uint32_t cores, void (*work)(void *argument), void *argument);

/* Only if a controller calls the model: run `work(argument)` on the core that runs the layers;
 * `work` forks to `cores` cores. */
void tilewright_dispatch(uint32_t cores, void (*work)(void *argument), void *argument);
uint32_t tilewright_core_id(void);

/* Cycles (or instructions, or another unit of time) since some start; wraps at 2^32. */
uint32_t tilewright_cycles(void);

/* Cache maintenance for pools with cache lines; empty where there is no cache. */
void tilewright_cache_clean(tilewright_address_t address, uint32_t size_bytes);
void tilewright_cache_invalidate(tilewright_address_t address, uint32_t size_bytes);

/* Called inside waits. The port supplies a weak default that does nothing. */
void tilewright_idle(void);

#ifdef __cplusplus
}
#endif

#endif
