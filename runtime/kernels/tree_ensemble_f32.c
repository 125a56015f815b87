/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_math.h"

/* Tables of the trees, which lie packed. */
struct tables {
    const uint8_t *nodes;
    const uint8_t *thresholds;
    const uint8_t *roots;
    const uint8_t *targets;
    const uint8_t *values;
};

static int32_t word(const uint8_t *table, int32_t index)
{
    return (int32_t)tilewright_load_word(table + 4 * (ptrdiff_t)index);
}

static int takes_first(float value, float threshold, int32_t mode)
{
    if (mode >= TILEWRIGHT_TREE_MISSING_TRUE) {
        if (value != value) {
            return 1;
        }
        mode -= TILEWRIGHT_TREE_MISSING_TRUE;
    }
    switch (mode) {
    case 0:
        return value <= threshold;
    case 1:
        return value < threshold;
    case 2:
        return value >= threshold;
    case 3:
        return value > threshold;
    case 4:
        return value == threshold;
    default:
        return value != threshold;
    }
}

/* The leaf of a tree to which a row of features leads. */
static int32_t leaf_of(const struct tables *tables, int32_t at, const uint8_t *x, int32_t x_step)
{
    for (;;) {
        const int32_t first = at * TILEWRIGHT_TREE_NODE_WORDS;
        const int32_t feature = word(tables->nodes, first);
        if (feature < 0) {
            return first;
        }
        const float value = tilewright_load_f32(x + (ptrdiff_t)feature * x_step);
        const float threshold = tilewright_load_f32(tables->thresholds + 4 * (ptrdiff_t)at);
        const int32_t branch =
            takes_first(value, threshold, word(tables->nodes, first + 3)) ? 1 : 2;
        at = word(tables->nodes, first + branch);
    }
}

static float combined(float before, float value, int32_t aggregate)
{
    if (aggregate == 0) {
        return before + value;
    }
    /* NaN is a target that no leaf has given a value yet. */
    const int closer = aggregate == 1 ? value < before : value > before;
    return before != before || closer ? value : before;
}

static void run_row(const struct tilewright_tree_ensemble_attributes *attributes,
                    const struct tables *tables, const struct tilewright_view *operands,
                    int32_t row)
{
    const struct tilewright_shape *x_shape = operands[0].shape;
    const struct tilewright_shape *y_shape = operands[6].shape;
    const uint8_t *x = operands[0].base + (ptrdiff_t)row * x_shape->stride[4];
    uint8_t *y = operands[6].base + (ptrdiff_t)row * y_shape->stride[4];

    for (int32_t target = 0; target < attributes->targets; target++) {
        tilewright_store_word(y + (ptrdiff_t)target * y_shape->stride[5],
                              attributes->aggregate == 0 ? 0u : 0x7fc00000u);
    }
    for (int32_t tree = 0; tree < attributes->trees; tree++) {
        const int32_t leaf = leaf_of(tables, word(tables->roots, tree), x, x_shape->stride[5]);
        const int32_t begin = word(tables->nodes, leaf + 1);
        const int32_t end = begin + word(tables->nodes, leaf + 2);
        for (int32_t i = begin; i < end; i++) {
            uint8_t *at = y + (ptrdiff_t)word(tables->targets, i) * y_shape->stride[5];
            const float value = tilewright_load_f32(tables->values + 4 * (ptrdiff_t)i);
            tilewright_store_f32(at,
                                 combined(tilewright_load_f32(at), value, attributes->aggregate));
        }
    }
    for (int32_t target = 0; target < attributes->targets; target++) {
        uint8_t *at = y + (ptrdiff_t)target * y_shape->stride[5];
        const float value = tilewright_load_f32(at);
        if (value != value) {
            tilewright_store_f32(at, 0.0f);
        }
    }
}

void tilewright_tree_ensemble_f32(const struct tilewright_tree_ensemble_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    const struct tables tables = {operands[1].base, operands[2].base, operands[3].base,
                                  operands[4].base, operands[5].base};

    (void)flags;
    for (int32_t row = 0; row < operands[6].shape->extent[4]; row++) {
        run_row(attributes, &tables, operands, row);
    }
}
