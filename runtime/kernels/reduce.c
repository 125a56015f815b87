/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/reduce.h"

#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/walk.h"

/* The reduced axes of x, innermost first. */
struct box {
    const struct tilewright_reduce_attributes *attributes;
    int32_t rank;
    int32_t extent[TILEWRIGHT_MAX_RANK];
    int32_t stride[TILEWRIGHT_MAX_RANK];
    int64_t count;
};

static void run_pass(const struct box *box, struct tilewright_reduction *state, const uint8_t *x)
{
    int32_t index[TILEWRIGHT_MAX_RANK] = {0};
    int32_t axis;
    do {
        const uint8_t *at = x;
        for (axis = 1; axis < box->rank; axis++) {
            at += (ptrdiff_t)index[axis] * box->stride[axis];
        }
        box->attributes->reducer->line(state, at, box->stride[0], box->extent[0]);
        for (axis = 1; axis < box->rank && ++index[axis] == box->extent[axis]; axis++) {
            index[axis] = 0;
        }
    } while (axis < box->rank);
}

static void run_results(uint8_t *const *at, const int32_t *stride, int32_t count,
                        const void *context)
{
    const struct box *box = context;
    const struct tilewright_reducer *reducer = box->attributes->reducer;
    for (int32_t i = 0; i < count; i++) {
        struct tilewright_reduction state = {0};
        state.count = box->count;
        state.select_last = box->attributes->select_last;
        reducer->begin(&state);
        for (state.pass = 0; state.pass < reducer->passes; state.pass++) {
            run_pass(box, &state, at[0] + (ptrdiff_t)i * stride[0]);
        }
        reducer->end(&state, at[1] + (ptrdiff_t)i * stride[1]);
    }
}

void tilewright_reduce(const struct tilewright_reduce_attributes *attributes,
                       const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *x = operands[0].shape;
    struct tilewright_walk_operand walked[2];
    struct box box = {attributes, 0, {1}, {0}, 1};
    int32_t extent[TILEWRIGHT_MAX_RANK];

    (void)flags;
    for (int32_t axis = TILEWRIGHT_MAX_RANK - 1; axis >= 0; axis--) {
        const int reduced = (attributes->axes >> axis & 1u) != 0;
        extent[axis] = reduced ? 1 : operands[1].shape->extent[axis];
        if (reduced && x->extent[axis] > 1) {
            box.extent[box.rank] = x->extent[axis];
            box.stride[box.rank] = x->stride[axis];
            box.count *= x->extent[axis];
            box.rank++;
        }
    }
    tilewright_walk_set(&walked[0], &operands[0], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[1], NULL, NULL);
    tilewright_walk(walked, 2, extent, run_results, &box);
}
