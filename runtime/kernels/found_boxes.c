/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_math.h"

struct box {
    float low[2];
    float high[2];
};

/* The boxes and the scores of one class of one entry of the batch. */
struct candidates {
    const uint8_t *boxes;
    const uint8_t *scores;
    uint8_t *closed;
    int32_t count;
    int32_t box_stride;
    int32_t side_stride;
    int32_t score_stride;
    int32_t by_center;
};

static float score_of(const struct candidates *all, int32_t at)
{
    return tilewright_load_f32(all->scores + (ptrdiff_t)at * all->score_stride);
}

static struct box box_of(const struct candidates *all, int32_t at)
{
    const uint8_t *first = all->boxes + (ptrdiff_t)at * all->box_stride;
    struct box box;
    for (int32_t i = 0; i < 2; i++) {
        const float a = tilewright_load_f32(first + (ptrdiff_t)i * all->side_stride);
        const float b = tilewright_load_f32(first + (ptrdiff_t)(i + 2) * all->side_stride);
        if (all->by_center != 0) {
            box.low[i] = a - b / 2.0f;
            box.high[i] = a + b / 2.0f;
        } else {
            box.low[i] = a < b ? a : b;
            box.high[i] = a < b ? b : a;
        }
    }
    return box;
}

static float area_of(const struct box *box)
{
    return (box->high[0] - box->low[0]) * (box->high[1] - box->low[1]);
}

/* Whether two boxes share more of their union than the limit. Comparisons are written so that
 * boxes with NaN share nothing. */
static int overlaps(const struct box *a, const struct box *b, float limit)
{
    float side[2];
    for (int32_t i = 0; i < 2; i++) {
        const float low = a->low[i] > b->low[i] ? a->low[i] : b->low[i];
        const float high = a->high[i] < b->high[i] ? a->high[i] : b->high[i];
        side[i] = high - low;
        if (!(side[i] > 0.0f)) {
            return 0;
        }
    }
    const float common = side[0] * side[1];
    const float a_area = area_of(a);
    const float b_area = area_of(b);
    const float all = b_area + a_area - common;
    return common > 0.0f && a_area > 0.0f && b_area > 0.0f && all > 0.0f && common / all > limit;
}

/* The box with the best score of those that are open, the one in front of equals; -1 for none. */
static int32_t best_of(const struct candidates *all)
{
    int32_t best = -1;
    float best_score = 0.0f;
    for (int32_t i = 0; i < all->count; i++) {
        if (all->closed[i] == 0) {
            const float score = score_of(all, i);
            if (best < 0 || score > best_score) {
                best = i;
                best_score = score;
            }
        }
    }
    return best;
}

static void close_overlapping(const struct candidates *all, int32_t best, float limit)
{
    const struct box kept = box_of(all, best);
    all->closed[best] = 1;
    for (int32_t i = 0; i < all->count; i++) {
        if (all->closed[i] == 0) {
            const struct box other = box_of(all, i);
            if (overlaps(&kept, &other, limit)) {
                all->closed[i] = 1;
            }
        }
    }
}

static void store_row(const struct tilewright_view *found, int32_t row, const int32_t *values)
{
    const int32_t *stride = found->shape->stride;
    for (int32_t i = 0; i < 3; i++) {
        uint8_t *y = found->base + (ptrdiff_t)row * stride[4] + (ptrdiff_t)i * stride[5];
        *(int64_t *)(void *)y = values != NULL ? values[i] : -1;
    }
}

static void open_candidates(const struct candidates *all, int32_t has_threshold, float threshold)
{
    for (int32_t i = 0; i < all->count; i++) {
        const float score = score_of(all, i);
        const int is_open = has_threshold != 0 ? score > threshold : score == score;
        all->closed[i] = (uint8_t)!is_open;
    }
}

/* Find the boxes of one class; returns the number of boxes found so far, earlier classes included.
 */
static int32_t find_boxes(const struct candidates *all, const struct tilewright_view *operands,
                          int32_t *place, int32_t count)
{
    const int64_t most = *(const int64_t *)(const void *)operands[2].base;
    const float limit = tilewright_load_f32(operands[3].base);
    for (int64_t kept = 0; kept < most; kept++) {
        place[2] = best_of(all);
        if (place[2] < 0) {
            break;
        }
        if (count < operands[5].shape->extent[4]) {
            store_row(&operands[5], count, place);
        }
        count++;
        close_overlapping(all, place[2], limit);
    }
    return count;
}

void tilewright_found_boxes(const struct tilewright_found_boxes_attributes *attributes,
                            const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *boxes = operands[0].shape;
    const struct tilewright_shape *scores = operands[1].shape;
    const float threshold = tilewright_load_f32(operands[4].base);
    struct candidates all = {
        operands[0].base,  operands[1].base,     operands[7].base + attributes->closed_at,
        scores->extent[5], boxes->stride[4],     boxes->stride[5],
        scores->stride[5], attributes->by_center};
    int32_t place[3];
    int32_t count = 0;

    (void)flags;
    for (place[0] = 0; place[0] < scores->extent[3]; place[0]++) {
        for (place[1] = 0; place[1] < scores->extent[4]; place[1]++) {
            all.boxes = operands[0].base + (ptrdiff_t)place[0] * boxes->stride[3];
            all.scores = operands[1].base + (ptrdiff_t)place[0] * scores->stride[3] +
                         (ptrdiff_t)place[1] * scores->stride[4];
            open_candidates(&all, attributes->has_threshold, threshold);
            count = find_boxes(&all, operands, place, count);
        }
    }
    for (int32_t row = count; row < operands[5].shape->extent[4]; row++) {
        store_row(&operands[5], row, NULL);
    }
    *(int32_t *)(void *)operands[6].base = count;
}
