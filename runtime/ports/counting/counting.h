/* SPDX-License-Identifier: Apache-2.0 */
/* A layer over any port, for tests: counts and checks copies, hides far memory from kernels, and
 * can put copies off until somebody waits. docs/reference/port.md has the how and why. */
#ifndef TILEWRIGHT_COUNTING_H
#define TILEWRIGHT_COUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <tilewright/port.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TILEWRIGHT_COUNTING_LINKS 16u
#define TILEWRIGHT_COUNTING_RANGES 64u
#define TILEWRIGHT_COUNTING_PENDING 64u

enum tilewright_counting_side { TILEWRIGHT_COUNTING_SOURCE, TILEWRIGHT_COUNTING_DESTINATION };

/* Since the last reset: bytes over a link, and copies started on it. */
uint64_t tilewright_port_link_bytes(uint32_t link);
uint32_t tilewright_port_link_copies(uint32_t link);

/* Clear counters, faults, pending copies, rules and late mode; protected memory stays so. */
void tilewright_port_reset(void);

/* Asleep it hands all copies to the port, neither counted nor checked: for runs that are timed. To
 * be called while no copy is pending and no memory protected. */
void tilewright_counting_sleep(bool enabled);

/* Scramble memory in place, so that only copies see its content, and put it back. Returns false
 * if the range overlaps a protected one or there are too many, or is not a protected one. */
bool tilewright_counting_protect(tilewright_address_t address, uint32_t size_bytes);
bool tilewright_counting_unprotect(tilewright_address_t address, uint32_t size_bytes);

/* Memory that the core cannot reach, for good: nothing is scrambled or poisoned there. Where it is
 * protected, it has to hold what copies from protected memory bring. Returns false if there are too
 * many ranges. */
bool tilewright_counting_beyond(tilewright_address_t address, uint32_t size_bytes);

/* Rules. Every start, stride and line of the link must be a multiple of align_bytes. Once a side
 * of a link has ranges, each copy must lie within one of them. False: no such link, no room. */
bool tilewright_counting_align(uint32_t link, uint32_t align_bytes);
bool tilewright_counting_allow(uint32_t link, enum tilewright_counting_side side,
                               tilewright_address_t address, uint32_t size_bytes);

/* The port makes copies over this link in every mode, not the core, which cannot reach where they
 * come from. Their source cannot be protected. False: no such link. */
bool tilewright_counting_through_port(uint32_t link);

/* Late mode: a copy poisons its destination at once and happens when it is waited for. */
void tilewright_counting_late(bool enabled);

/* Copies that nobody has waited for in late mode. */
uint32_t tilewright_counting_pending(void);

/* Broken rules, and what the first one was (NULL if none). The copy is not made and every later
 * wait on any link returns TILEWRIGHT_PORT_FAULT. */
uint32_t tilewright_counting_faults(void);
const char *tilewright_counting_first_fault(void);

#ifdef __cplusplus
}
#endif

#endif
