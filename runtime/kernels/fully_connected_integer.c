/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/fully_connected_integer.h"

#include "tilewright/kernels/integer_core.h"

enum { X, WEIGHTS, ROWS, Y };
enum { ROW, COLUMN };

TILEWRIGHT_INLINE int32_t element(const uint8_t *x, const int32_t is_unsigned)
{
    return is_unsigned != 0 ? *x : *(const int8_t *)x;
}

/* Adds the products of one element of x to four sums. */
#define TILEWRIGHT_PRODUCTS(x)                                                                     \
    do {                                                                                           \
        const int32_t value = element(x, is_unsigned);                                             \
        s0 += value * w[0];                                                                        \
        s1 += value * w[1];                                                                        \
        s2 += value * w[2];                                                                        \
        s3 += value * w[3];                                                                        \
        w += TILEWRIGHT_BLOCK;                                                                     \
    } while (0)

/* Four channels at a time, so that the weights are packed as for the other cores. */
TILEWRIGHT_INLINE void core(struct tilewright_sink *sink, const uint8_t *restrict vector,
                            int32_t stride, int32_t taps, const int8_t *restrict w,
                            const int32_t *restrict rows, int32_t channels,
                            tilewright_block_finish *finish, const int32_t is_unsigned)
{
    for (; channels > 0; channels -= TILEWRIGHT_BLOCK) {
        int32_t sums[TILEWRIGHT_BLOCK];
        const uint8_t *restrict x = vector;
        int32_t s0 = rows[0], s1 = rows[TILEWRIGHT_ROW_WORDS];
        int32_t s2 = rows[2 * TILEWRIGHT_ROW_WORDS], s3 = rows[3 * TILEWRIGHT_ROW_WORDS];
        int32_t left = taps;
        if (stride == 1) {
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
        sums[0] = s0;
        sums[1] = s1;
        sums[2] = s2;
        sums[3] = s3;
        finish(sink, sums, rows, channels < TILEWRIGHT_BLOCK ? channels : TILEWRIGHT_BLOCK);
        rows += TILEWRIGHT_BLOCK * TILEWRIGHT_ROW_WORDS;
    }
}
#undef TILEWRIGHT_PRODUCTS

typedef void vector_core(struct tilewright_sink *sink, const uint8_t *vector, int32_t stride,
                         int32_t taps, const int8_t *w, const int32_t *rows, int32_t channels,
                         tilewright_block_finish *finish);

static TILEWRIGHT_NOINLINE void core_signed(struct tilewright_sink *sink, const uint8_t *vector,
                                            int32_t stride, int32_t taps, const int8_t *w,
                                            const int32_t *rows, int32_t channels,
                                            tilewright_block_finish *finish)
{
    core(sink, vector, stride, taps, w, rows, channels, finish, 0);
}

static TILEWRIGHT_NOINLINE void core_unsigned(struct tilewright_sink *sink, const uint8_t *vector,
                                              int32_t stride, int32_t taps, const int8_t *w,
                                              const int32_t *rows, int32_t channels,
                                              tilewright_block_finish *finish)
{
    core(sink, vector, stride, taps, w, rows, channels, finish, 1);
}

TILEWRIGHT_SMALL_CODE

static TILEWRIGHT_NOINLINE void run(const struct tilewright_fully_connected_integer_attributes *a,
                                    const struct tilewright_view *operands, vector_core *multiply,
                                    tilewright_block_finish *finish)
{
    const struct tilewright_view *x = &operands[X];
    const struct tilewright_view *y = &operands[Y];

    for (int32_t i = 0; i < y->shape->extent[ROW]; i++) {
        struct tilewright_sink sink = {{tilewright_row(y, ROW, y->shape->origin[ROW] + i)},
                                       y->shape->stride[COLUMN],
                                       1,
                                       {a->minimum, a->maximum, a->lowest, a->highest}};
        multiply(&sink, tilewright_row(x, ROW, x->shape->origin[ROW] + i), x->shape->stride[COLUMN],
                 x->shape->extent[COLUMN], (const int8_t *)operands[WEIGHTS].base,
                 (const int32_t *)(const void *)operands[ROWS].base, y->shape->extent[COLUMN],
                 finish);
    }
}

#define TILEWRIGHT_DEFINE_FULLY_CONNECTED(rule)                                                    \
    void tilewright_fully_connected_integer_##rule(                                                \
        const struct tilewright_fully_connected_integer_attributes *attributes,                    \
        const struct tilewright_view *operands, uint32_t flags)                                    \
    {                                                                                              \
        (void)flags;                                                                               \
        run(attributes, operands, core_signed, tilewright_block_##rule);                           \
    }                                                                                              \
    void tilewright_fully_connected_unsigned_##rule(                                               \
        const struct tilewright_fully_connected_integer_attributes *attributes,                    \
        const struct tilewright_view *operands, uint32_t flags)                                    \
    {                                                                                              \
        (void)flags;                                                                               \
        run(attributes, operands, core_unsigned, tilewright_block_##rule);                         \
    }

TILEWRIGHT_DEFINE_FULLY_CONNECTED(none)
TILEWRIGHT_DEFINE_FULLY_CONNECTED(shift)
TILEWRIGHT_DEFINE_FULLY_CONNECTED(high)
TILEWRIGHT_DEFINE_FULLY_CONNECTED(long)
TILEWRIGHT_DEFINE_FULLY_CONNECTED(even)
TILEWRIGHT_DEFINE_FULLY_CONNECTED(exact)
TILEWRIGHT_DEFINE_FULLY_CONNECTED(rescale)
