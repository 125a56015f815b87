/* SPDX-License-Identifier: Apache-2.0 */
/* Rule even for layers in which few channels need it: these are marked in their rows and computed
 * here, output by output; assembler computes all others, by rule high. */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_rules.h"
#include "tilewright/kernels/xpulpv2_plane.h"

static TILEWRIGHT_NOINLINE void by_rule_even(struct tilewright_xpulpv2_plane *plane,
                                             int32_t is_unsigned, int32_t kernel_rows)
{
    const int32_t row[TILEWRIGHT_ROW_WORDS] = {0, plane->multiplier, plane->addend, plane->shift};
    const struct tilewright_limits limits = {plane->minimum, plane->maximum, 0, 0};
    const struct tilewright_constants constants =
        tilewright_constants_of(row, &limits, TILEWRIGHT_RULE_EVEN);
    for (int32_t columns = plane->columns + 2 * plane->pairs; columns > 0; columns--) {
        const uint8_t *x = plane->bytes;
        uint8_t *out = plane->out;
        for (int32_t i = 0; i < plane->rows; i++) {
            const int32_t sum = tilewright_xpulpv2_sum(plane, x, is_unsigned, kernel_rows);
            tilewright_store_sum(out, sum, constants, &limits, TILEWRIGHT_RULE_EVEN);
            x += plane->down;
            out += plane->out_down;
        }
        plane->bytes += plane->across;
        plane->out += plane->out_across;
    }
    plane->columns = 0;
    plane->pairs = 0;
}

#define TILEWRIGHT_MARKED(shape, rows, clip, sign, is_unsigned)                                    \
    void tilewright_xpulpv2_##shape##_even_##clip##_##sign(struct tilewright_xpulpv2_plane *plane) \
    {                                                                                              \
        if ((plane->shift & TILEWRIGHT_ROUNDS_EVEN) != 0) {                                        \
            by_rule_even(plane, is_unsigned, rows);                                                \
        } else {                                                                                   \
            tilewright_xpulpv2_##shape##_high_##clip##_##sign(plane);                              \
        }                                                                                          \
    }

#define TILEWRIGHT_MARKED_CLIPS(shape, rows, sign, is_unsigned)                                    \
    TILEWRIGHT_MARKED(shape, rows, both, sign, is_unsigned)                                        \
    TILEWRIGHT_MARKED(shape, rows, around, sign, is_unsigned)                                      \
    TILEWRIGHT_MARKED(shape, rows, above, sign, is_unsigned)

TILEWRIGHT_MARKED_CLIPS(plane, 3, signed, 0)
TILEWRIGHT_MARKED_CLIPS(plane, 3, unsigned, 1)
TILEWRIGHT_MARKED_CLIPS(five, 5, signed, 0)
TILEWRIGHT_MARKED_CLIPS(five, 5, unsigned, 1)
TILEWRIGHT_MARKED_CLIPS(seven, 7, signed, 0)
TILEWRIGHT_MARKED_CLIPS(seven, 7, unsigned, 1)
