/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of depthwise kernels of five and of seven rows, not dilated. */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/depthwise_window.h"

/* Whether elements stay in registers for the windows below: in thirteen registers they do not fit
 * beside the weights. */
#if defined(__arm__)
enum { IS_KEPT = 0 };
#else
enum { IS_KEPT = !TILEWRIGHT_FOR_SIZE };
#endif

/* A column of y, and the column of x that one column of the weights multiplies. */
struct pass {
    const int8_t *x, *w;
    int32_t *sums;
    const int32_t *end;
    int32_t pitch, down; /* bytes between rows of x, and between rows that windows begin at */
    int32_t columns;     /* of y, between the sums of a column */
    int32_t width;       /* of the kernel, between the weights of a column */
};

/* Adds the products of a column of weights, of which there are `rows`, to a column of sums. */
TILEWRIGHT_INLINE void add_apart(const struct pass *pass, const int32_t rows)
{
    const int8_t *restrict top = pass->x;
    const int32_t pitch = pass->pitch, down = pass->down, columns = pass->columns;
    const int32_t *const end = pass->end;
    int32_t *restrict sums = pass->sums;
    int32_t w[7];

    TILEWRIGHT_UNROLL_16
    for (int32_t i = 0; i < rows; i++) {
        w[i] = pass->w[i * pass->width];
    }
    do {
        const int8_t *restrict x = top;
        int32_t sum = *sums;
        TILEWRIGHT_UNROLL_16
        for (int32_t i = 0; i < rows; i++) {
            sum += *x * w[i];
            x += pitch;
        }
        *sums = sum;
        top += down;
        sums += columns;
    } while (sums != end);
}

/* The variables of the rows change their roles, so that no element is moved between registers and
 * each is loaded once: `last` is loaded, the others are those before it. */
#define TILEWRIGHT_NEXT_SUM(last, ...)                                                             \
    last = *x;                                                                                     \
    x += pitch;                                                                                    \
    *sums += __VA_ARGS__ + last * wn;                                                              \
    sums += columns;                                                                               \
    if (sums == end) {                                                                             \
        break;                                                                                     \
    }
#define TILEWRIGHT_OF_FOUR(a, b, c, d) a *w0 + b *w1 + c *w2 + d *w3
#define TILEWRIGHT_OF_SIX(a, b, c, d, e, f) TILEWRIGHT_OF_FOUR(a, b, c, d) + e *w4 + f *w5

/* The same for windows one row apart, of five rows. */
static void add_five(const struct pass *pass)
{
    const int8_t *restrict x = pass->x;
    const int32_t pitch = pass->pitch, columns = pass->columns, width = pass->width;
    const int32_t *const end = pass->end;
    const int8_t *const w = pass->w;
    int32_t *restrict sums = pass->sums;
    const int32_t w0 = w[0], w1 = w[width], w2 = w[2 * width], w3 = w[3 * width];
    const int32_t wn = w[4 * width];
    int32_t a = x[0], b = x[pitch], c = x[2 * pitch], d = x[3 * pitch], e;

    x += 4 * pitch;
    for (;;) {
        TILEWRIGHT_NEXT_SUM(e, TILEWRIGHT_OF_FOUR(a, b, c, d))
        TILEWRIGHT_NEXT_SUM(a, TILEWRIGHT_OF_FOUR(b, c, d, e))
        TILEWRIGHT_NEXT_SUM(b, TILEWRIGHT_OF_FOUR(c, d, e, a))
        TILEWRIGHT_NEXT_SUM(c, TILEWRIGHT_OF_FOUR(d, e, a, b))
        TILEWRIGHT_NEXT_SUM(d, TILEWRIGHT_OF_FOUR(e, a, b, c))
    }
}

/* Of seven rows. */
static void add_seven(const struct pass *pass)
{
    const int8_t *restrict x = pass->x;
    const int32_t pitch = pass->pitch, columns = pass->columns, width = pass->width;
    const int32_t *const end = pass->end;
    const int8_t *const w = pass->w;
    int32_t *restrict sums = pass->sums;
    const int32_t w0 = w[0], w1 = w[width], w2 = w[2 * width], w3 = w[3 * width];
    const int32_t w4 = w[4 * width], w5 = w[5 * width], wn = w[6 * width];
    int32_t a = x[0], b = x[pitch], c = x[2 * pitch], d = x[3 * pitch], e = x[4 * pitch];
    int32_t f = x[5 * pitch], g;

    x += 6 * pitch;
    for (;;) {
        TILEWRIGHT_NEXT_SUM(g, TILEWRIGHT_OF_SIX(a, b, c, d, e, f))
        TILEWRIGHT_NEXT_SUM(a, TILEWRIGHT_OF_SIX(b, c, d, e, f, g))
        TILEWRIGHT_NEXT_SUM(b, TILEWRIGHT_OF_SIX(c, d, e, f, g, a))
        TILEWRIGHT_NEXT_SUM(c, TILEWRIGHT_OF_SIX(d, e, f, g, a, b))
        TILEWRIGHT_NEXT_SUM(d, TILEWRIGHT_OF_SIX(e, f, g, a, b, c))
        TILEWRIGHT_NEXT_SUM(e, TILEWRIGHT_OF_SIX(f, g, a, b, c, d))
        TILEWRIGHT_NEXT_SUM(f, TILEWRIGHT_OF_SIX(g, a, b, c, d, e))
    }
}

/* Adds up one column of the weights after the other, down each column of y. */
TILEWRIGHT_INLINE void add_up(const struct tilewright_depthwise_integer_attributes *a,
                              const struct tilewright_depthwise_plane *plane, const int32_t rows)
{
    const int32_t count = plane->rows * plane->columns;
    struct pass pass;

    for (int32_t i = 0; i < count; i++) {
        plane->sums[i] = plane->bias;
    }
    pass.pitch = plane->pitch;
    pass.down = a->strides[0] * plane->pitch;
    pass.columns = plane->columns;
    pass.width = a->kernel[1];
    for (int32_t column = 0; column < plane->columns; column++) {
        pass.sums = plane->sums + column;
        pass.end = pass.sums + count;
        pass.x = plane->bytes + column * plane->step;
        pass.w = plane->weights;
        for (int32_t kw = pass.width; kw > 0; kw--) {
            if (IS_KEPT == 0 || a->strides[0] > 1) {
                add_apart(&pass, rows);
            } else if (rows == 5) {
                add_five(&pass);
            } else {
                add_seven(&pass);
            }
            pass.x += a->dilations[1];
            pass.w++;
        }
    }
}

void tilewright_depthwise_five(const struct tilewright_depthwise_integer_attributes *a,
                               const struct tilewright_depthwise_plane *plane)
{
    add_up(a, plane, 5);
}

void tilewright_depthwise_seven(const struct tilewright_depthwise_integer_attributes *a,
                                const struct tilewright_depthwise_plane *plane)
{
    add_up(a, plane, 7);
}
