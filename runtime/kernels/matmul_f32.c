/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_block.h"
#include "tilewright/kernels/walk.h"

enum { A, WEIGHTS, BIAS, Y, PARTIAL };
enum { LAST = TILEWRIGHT_MAX_RANK - 1 };

struct matmul {
    struct tilewright_float_rows *rows;
    const float *weights;
};

static TILEWRIGHT_NOINLINE void four_dense(struct tilewright_float_rows *job, const float *weights)
{
    tilewright_float_rows(job, weights, 4, TILEWRIGHT_TAPS_DENSE);
}

static TILEWRIGHT_NOINLINE void one_dense(struct tilewright_float_rows *job, const float *weights)
{
    tilewright_float_rows(job, weights, 1, TILEWRIGHT_TAPS_DENSE);
}

static TILEWRIGHT_NOINLINE void four_apart(struct tilewright_float_rows *job, const float *weights)
{
    tilewright_float_rows(job, weights, 4, TILEWRIGHT_TAPS_APART);
}

static TILEWRIGHT_NOINLINE void one_apart(struct tilewright_float_rows *job, const float *weights)
{
    tilewright_float_rows(job, weights, 1, TILEWRIGHT_TAPS_APART);
}

static void four(struct tilewright_float_rows *job, const float *weights)
{
    if (TILEWRIGHT_FAST_FLOATS && job->x_step == 4) {
        four_dense(job, weights);
    } else {
        four_apart(job, weights);
    }
}

static void one(struct tilewright_float_rows *job, const float *weights)
{
    if (TILEWRIGHT_FAST_FLOATS && job->x_step == 4) {
        one_dense(job, weights);
    } else {
        one_apart(job, weights);
    }
}

/* Computes `count` rows of y from rows of a; an element of the walk is a whole row of a and y. */
static void run_rows(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    const struct matmul *matmul = context;
    struct tilewright_float_rows *rows = matmul->rows;
    const uint8_t *a = at[0];
    uint8_t *y = at[1];

    for (; count > 0; count -= 4) {
        const int32_t lanes = count < 4 ? count : 4;
        if (lanes == 4) {
            for (int32_t i = 0; i < 4; i++) {
                rows->x[i] = a + i * stride[0];
                rows->y[i] = y + i * stride[1];
            }
            four(rows, matmul->weights);
        } else {
            for (int32_t i = 0; i < lanes; i++) {
                rows->x[0] = a + i * stride[0];
                rows->y[0] = y + i * stride[1];
                one(rows, matmul->weights);
            }
        }
        a += 4 * stride[0];
        y += 4 * stride[1];
    }
}

void tilewright_matmul_f32(const struct tilewright_clamp_f32_attributes *attributes,
                           const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *a = operands[A].shape;
    const struct tilewright_shape *y = operands[Y].shape;
    struct tilewright_walk_operand walked[2];
    int32_t extent[TILEWRIGHT_MAX_RANK];
    struct tilewright_float_rows rows;
    const struct matmul matmul = {&rows, (const float *)(const void *)operands[WEIGHTS].base};

    for (int32_t axis = 0; axis < LAST; axis++) {
        extent[axis] = y->extent[axis];
    }
    extent[LAST] = 1;
    rows.x_step = a->stride[LAST];
    rows.taps = a->extent[LAST];
    rows.y_step = y->stride[LAST];
    rows.columns = y->extent[LAST];
    rows.minimum = attributes->minimum;
    rows.maximum = attributes->maximum;
    rows.bias = (const float *)(const void *)operands[BIAS].base;
    rows.partial = flags == TILEWRIGHT_WHOLE ? NULL : (float *)(void *)operands[PARTIAL].base;
    rows.flags = flags;
    tilewright_walk_set(&walked[0], &operands[A], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[Y], NULL, NULL);
    tilewright_walk(walked, 2, extent, run_rows, &matmul);
}
