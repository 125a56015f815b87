/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/integer_core.h"

enum { X, WEIGHTS, ROWS, Y, PARTIAL };
enum { ROW, COLUMN };

TILEWRIGHT_INLINE int32_t element(const uint8_t *x, const int32_t is_unsigned)
{
    return is_unsigned != 0 ? *x : *(const int8_t *)x;
}

/* Adds the products of one element of x to four sums. */
#define TILEWRIGHT_PRODUCTS(x)                                                                     \
    do {                                                                                           \
        const int32_t value = element(x, is_unsigned);                                             \
        s0 += value * tilewright_weight_at(w, 0, bytes);                                           \
        s1 += value * tilewright_weight_at(w, 1, bytes);                                           \
        s2 += value * tilewright_weight_at(w, 2, bytes);                                           \
        s3 += value * tilewright_weight_at(w, 3, bytes);                                           \
        w += TILEWRIGHT_BLOCK * bytes;                                                             \
    } while (0)

/* Computes four channels at a time; the weights are packed as for the cores of convolutions. */
TILEWRIGHT_INLINE void core(struct tilewright_sink *sink, const uint8_t *restrict vector,
                            int32_t stride, int32_t taps, const int8_t *restrict w,
                            const int32_t *restrict rows, int32_t channels,
                            tilewright_block_finish *finish, const int32_t is_unsigned,
                            const int32_t bytes)
{
    for (; channels > 0; channels -= TILEWRIGHT_BLOCK) {
        const int32_t *start = sink->start;
        const uint8_t *restrict x = vector;
        int32_t step = 1;
        if (start == NULL) {
            start = rows;
            step = sink->row_words;
        }
        int32_t s0 = start[0], s1 = start[step], s2 = start[2 * step], s3 = start[3 * step];
        int32_t left = taps;
        if (stride == 1 && !TILEWRIGHT_FOR_SIZE) {
            for (; left >= 4; left -= 4) {
                TILEWRIGHT_PRODUCTS(x);
                TILEWRIGHT_PRODUCTS(x + 1);
                TILEWRIGHT_PRODUCTS(x + 2);
                TILEWRIGHT_PRODUCTS(x + 3);
                x += 4;
            }
        }
        for (; left > 0; left--) {
            TILEWRIGHT_PRODUCTS(x);
            x += stride;
        }
        int32_t *const sums = sink->sums;
        sums[0] = s0;
        sums[1] = s1;
        sums[2] = s2;
        sums[3] = s3;
        tilewright_next_block(sink);
        if (finish != NULL) {
            finish(sink, sums, rows, tilewright_smaller(channels, TILEWRIGHT_BLOCK));
        }
        rows += TILEWRIGHT_BLOCK * sink->row_words;
    }
}
#undef TILEWRIGHT_PRODUCTS

#define TILEWRIGHT_DEFINE_VECTOR(name, is_unsigned, bytes)                                         \
    void tilewright_vector_##name(                                                                 \
        struct tilewright_sink *sink, const uint8_t *vector, int32_t stride, int32_t taps,         \
        const int8_t *w, const int32_t *rows, int32_t channels, tilewright_block_finish *finish)   \
    {                                                                                              \
        core(sink, vector, stride, taps, w, rows, channels, finish, is_unsigned, bytes);           \
    }

TILEWRIGHT_DEFINE_VECTOR(signed, 0, 1)
TILEWRIGHT_DEFINE_VECTOR(unsigned, 1, 1)
TILEWRIGHT_DEFINE_VECTOR(wide_signed, 0, 2)
TILEWRIGHT_DEFINE_VECTOR(wide_unsigned, 1, 2)

void tilewright_fully_connected_integer(
    const struct tilewright_fully_connected_integer_attributes *a,
    const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_rule *const rule = a->rule;
    const struct tilewright_view *x = &operands[X];
    const struct tilewright_view *y = &operands[Y];
    struct tilewright_sink sink;

    tilewright_open(&sink, rule, y->shape->stride[COLUMN], 1, &operands[PARTIAL], flags);
    sink.limits = TILEWRIGHT_LIMITS(a);
    for (int32_t i = 0; i < y->shape->extent[ROW]; i++) {
        sink.pixel[0] = tilewright_row(y, ROW, y->shape->origin[ROW] + i);
        a->products(&sink, tilewright_row(x, ROW, x->shape->origin[ROW] + i),
                    x->shape->stride[COLUMN], x->shape->extent[COLUMN],
                    (const int8_t *)operands[WEIGHTS].base,
                    (const int32_t *)(const void *)operands[ROWS].base, y->shape->extent[COLUMN],
                    (flags & TILEWRIGHT_LAST) != 0 ? rule->finish : NULL);
    }
}
