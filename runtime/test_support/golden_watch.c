/* SPDX-License-Identifier: Apache-2.0 */
/* The watched run: far memory is scrambled for everybody but the links, copies happen only when
 * they are waited for, and what moves is counted. */
#include "golden.h"

#include "../ports/counting/counting.h"

#include <inttypes.h>
#include <stdio.h>

void golden_watch_sleep(void)
{
    tilewright_counting_sleep(true);
}

int golden_watch_begin(const struct golden_test *test)
{
    tilewright_counting_sleep(false);
    tilewright_port_reset();
    tilewright_counting_late(true);
    for (uint32_t i = 0; i < test->link_count; i++) {
        (void)tilewright_counting_align(i, test->links[i].align_bytes);
        if (test->links[i].through_port) {
            (void)tilewright_counting_through_port(i);
        }
    }
    for (uint32_t i = 0; i < test->far_count; i++) {
        const tilewright_address_t start = (tilewright_address_t)test->far[i].start;
        if (test->far[i].beyond) {
            (void)tilewright_counting_beyond(start, test->far[i].size_bytes);
        }
        if (!tilewright_counting_protect(start, test->far[i].size_bytes)) {
            printf("memory %" PRIu32 " could not be protected\n", i);
        }
    }
    return 1;
}

uint32_t golden_watch_end(const struct golden_test *test)
{
    uint32_t broken = tilewright_counting_faults() + tilewright_counting_pending();
    if (tilewright_counting_faults() != 0u) {
        printf("%" PRIu32 " copies broke a rule; the first: %s\n", tilewright_counting_faults(),
               tilewright_counting_first_fault());
    }
    if (tilewright_counting_pending() != 0u) {
        printf("%" PRIu32 " copies were never waited for\n", tilewright_counting_pending());
    }
    for (uint32_t i = 0; i < test->far_count; i++) {
        const tilewright_address_t start = (tilewright_address_t)test->far[i].start;
        if (!tilewright_counting_unprotect(start, test->far[i].size_bytes)) {
            broken++;
        }
    }
    for (uint32_t i = 0; i < test->link_count; i++) {
        printf("link %s: %" PRIu32 " bytes, %" PRIu32 " copies\n", test->links[i].name,
               (uint32_t)tilewright_port_link_bytes(i), tilewright_port_link_copies(i));
    }
    tilewright_port_reset();
    return broken;
}
