/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/basics.h"
#include "tilewright/kernels/walk.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

enum { X, TABLE, Y };

struct lookup {
    const uint8_t *table;
    int32_t flip;
};

/* Four elements at a time, and how many are left. Callers pass a constant for `is_signed`: a signed
 * load saves turning the sign over. */
TILEWRIGHT_INLINE int32_t fours(const uint8_t *table, int is_signed, const uint8_t **from,
                                uint8_t **to, int32_t count)
{
    const uint8_t *x = *from;
    uint8_t *y = *to;
    const uint8_t *const middle = table + (is_signed ? 128 : 0);
    for (; count >= 4; count -= 4) {
        const uint8_t a = middle[is_signed ? (int8_t)x[0] : x[0]];
        const uint8_t b = middle[is_signed ? (int8_t)x[1] : x[1]];
        const uint8_t c = middle[is_signed ? (int8_t)x[2] : x[2]];
        const uint8_t d = middle[is_signed ? (int8_t)x[3] : x[3]];
        y[0] = a;
        y[1] = b;
        y[2] = c;
        y[3] = d;
        x += 4;
        y += 4;
    }
    *from = x;
    *to = y;
    return count;
}

static void bytes_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct lookup *lookup = context;
    /* Copies stay in registers: the compiler knows that stores of bytes do not change them. */
    const uint8_t *const table = lookup->table;
    const int32_t flip = lookup->flip;
    const int32_t stride_x = stride[0];
    const int32_t stride_y = stride[1];
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
#if defined(__ARM_FEATURE_MVE)
    if (stride_x == 1 && stride_y == 1) {
        const uint8x16_t flips = vdupq_n_u8((uint8_t)flip);
        for (; count > 0; count -= 16) {
            const mve_pred16_t held = vctp8q((uint32_t)count);
            const uint8x16_t places = veorq_u8(vldrbq_z_u8(x, held), flips);
            vstrbq_p_u8(y, vldrbq_gather_offset_z_u8(table, places, held), held);
            x += 16;
            y += 16;
        }
    }
#endif
    if (stride_x == 1 && stride_y == 1) {
        count = flip != 0 ? fours(table, 1, &x, &y, count) : fours(table, 0, &x, &y, count);
    }
    for (; count > 0; count--) {
        *y = table[*x ^ flip];
        x += stride_x;
        y += stride_y;
    }
}

static void words_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct lookup *lookup = context;
    const uint8_t *const table = lookup->table;
    const int32_t flip = lookup->flip;
    const uint8_t *x = at[0];
    uint8_t *y = at[1];
    for (; count > 0; count--) {
        tilewright_store_word(y, tilewright_load_word(table + 4 * (*x ^ flip)));
        x += stride[0];
        y += stride[1];
    }
}

static void run(const struct tilewright_view *operands, int32_t flip, tilewright_row_function row)
{
    const struct lookup lookup = {operands[TABLE].base, flip};
    struct tilewright_walk_operand walked[2];
    tilewright_walk_set(&walked[0], &operands[X], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[Y], NULL, NULL);
    tilewright_walk(walked, 2, operands[Y].shape->extent, row, &lookup);
}

void tilewright_lookup_bytes(const struct tilewright_lookup_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(operands, attributes->flip, bytes_row);
}

void tilewright_lookup_words(const struct tilewright_lookup_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    run(operands, attributes->flip, words_row);
}
