/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/reduce.h"

#include "tilewright/kernels/declarations.h"
#include "tilewright/kernels/walk.h"

/* A reducer's state as words, which may lie at any multiple of four bytes between calls. */
enum { WORDS = 12 };
union saved {
    struct tilewright_reduction state;
    uint32_t words[WORDS];
};
_Static_assert(sizeof(struct tilewright_reduction) == WORDS * sizeof(uint32_t), "state");

/* The reduced axes of a tile of x, innermost first, and the saved states of the tile of y. */
struct part {
    const struct tilewright_reduce_attributes *attributes;
    uint32_t flags;
    int32_t rank;
    int32_t extent[TILEWRIGHT_MAX_RANK];
    int32_t stride[TILEWRIGHT_MAX_RANK];
    int64_t count;
    uint32_t *next;
};

static void add_part(const struct part *part, struct tilewright_reduction *state, const uint8_t *x)
{
    int32_t index[TILEWRIGHT_MAX_RANK] = {0};
    int32_t axis;
    do {
        const uint8_t *at = x;
        for (axis = 1; axis < part->rank; axis++) {
            at += (ptrdiff_t)index[axis] * part->stride[axis];
        }
        part->attributes->reducer->line(state, at, part->stride[0], part->extent[0]);
        for (axis = 1; axis < part->rank && ++index[axis] == part->extent[axis]; axis++) {
            index[axis] = 0;
        }
    } while (axis < part->rank);
}

static void run_results(uint8_t *const *at, const int32_t *stride, int32_t count,
                        const void *context)
{
    /* The walk goes over results in the same order in every call, so their states follow. */
    struct part *part = *(struct part *const *)context;
    const struct tilewright_reducer *reducer = part->attributes->reducer;
    for (int32_t i = 0; i < count; i++) {
        union saved saved = {.words = {0}};
        if ((part->flags & TILEWRIGHT_FIRST) != 0) {
            saved.state.select_last = part->attributes->select_last;
            reducer->begin(&saved.state);
        } else {
            for (int32_t word = 0; word < WORDS; word++) {
                saved.words[word] = part->next[word];
            }
        }
        saved.state.count += part->count;
        add_part(part, &saved.state, at[0] + (ptrdiff_t)i * stride[0]);
        if ((part->flags & TILEWRIGHT_LAST) != 0) {
            reducer->end(&saved.state, at[1] + (ptrdiff_t)i * stride[1]);
        } else {
            for (int32_t word = 0; word < WORDS; word++) {
                part->next[word] = saved.words[word];
            }
        }
        part->next = part->next == NULL ? NULL : part->next + WORDS;
    }
}

void tilewright_reduce_parts(const struct tilewright_reduce_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *x = operands[0].shape;
    struct tilewright_walk_operand walked[2];
    struct part part = {attributes, flags, 0, {1}, {0}, 1, NULL};
    struct part *const context = &part;
    int32_t extent[TILEWRIGHT_MAX_RANK];

    if (flags != TILEWRIGHT_WHOLE) {
        part.next = (uint32_t *)(void *)operands[2].base;
    }
    for (int32_t axis = TILEWRIGHT_MAX_RANK - 1; axis >= 0; axis--) {
        const int reduced = (attributes->axes >> axis & 1u) != 0;
        extent[axis] = reduced ? 1 : operands[1].shape->extent[axis];
        if (reduced && x->extent[axis] > 1) {
            part.extent[part.rank] = x->extent[axis];
            part.stride[part.rank] = x->stride[axis];
            part.count *= x->extent[axis];
            part.rank++;
        }
    }
    tilewright_walk_set(&walked[0], &operands[0], NULL, NULL);
    tilewright_walk_set(&walked[1], &operands[1], NULL, NULL);
    tilewright_walk(walked, 2, extent, run_results, (const void *)&context);
}
