/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/float_math.h"

/* The rows that are compared. */
struct rows {
    const uint8_t *base;
    ptrdiff_t row_stride;
    ptrdiff_t stride;
    int32_t width;
    int32_t element_bytes;
    int32_t kind;
};

static int64_t integer(const uint8_t *at, int32_t element_bytes, int32_t kind)
{
    const int is_signed = kind == TILEWRIGHT_FOUND_SIGNED;
    switch (element_bytes) {
    case 1:
        return is_signed ? *(const int8_t *)(const void *)at : *at;
    case 2:
        return is_signed ? *(const int16_t *)(const void *)at : *(const uint16_t *)(const void *)at;
    case 4:
        return is_signed ? *(const int32_t *)(const void *)at
                         : (int64_t) * (const uint32_t *)(const void *)at;
    default:
        return *(const int64_t *)(const void *)at;
    }
}

/* NaN is above all numbers. */
static int order_of_floats(float a, float b)
{
    if (a == b || (a != a && b != b)) {
        return 0;
    }
    return a < b || b != b ? -1 : 1;
}

/* Below, equal to or above 0, as row i stands before, with or behind row j. */
static int order(const struct rows *rows, int32_t i, int32_t j)
{
    const uint8_t *a = rows->base + i * rows->row_stride;
    const uint8_t *b = rows->base + j * rows->row_stride;
    for (int32_t k = 0; k < rows->width; k++, a += rows->stride, b += rows->stride) {
        if (rows->kind == TILEWRIGHT_FOUND_REAL) {
            const int found = order_of_floats(tilewright_load_f32(a), tilewright_load_f32(b));
            if (found != 0) {
                return found;
            }
            continue;
        }
        const int64_t one = integer(a, rows->element_bytes, rows->kind);
        const int64_t other = integer(b, rows->element_bytes, rows->kind);
        if (one != other) {
            return one < other ? -1 : 1;
        }
    }
    return 0;
}

/* Whether row i sorts behind row j. Equal rows keep their order. */
static int stands_behind(const struct rows *rows, int32_t i, int32_t j)
{
    const int found = order(rows, i, j);
    return found > 0 || (found == 0 && i > j);
}

/* Move the entry at `at` down in a heap of `count` entries, whose root sorts last. */
static void sift_down(const struct rows *rows, int32_t *heap, int32_t at, int32_t count)
{
    const int32_t moved = heap[at];
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && stands_behind(rows, heap[child + 1], heap[child])) {
            child++;
        }
        if (!stands_behind(rows, heap[child], moved)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void sort(const struct rows *rows, int32_t *numbers, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        numbers[i] = i;
    }
    for (int32_t i = count / 2 - 1; i >= 0; i--) {
        sift_down(rows, numbers, i, count);
    }
    for (int32_t last = count - 1; last > 0; last--) {
        const int32_t largest = numbers[0];
        numbers[0] = numbers[last];
        numbers[last] = largest;
        sift_down(rows, numbers, 0, last);
    }
}

static int64_t *entry(const struct tilewright_view *view, int32_t at)
{
    return (int64_t *)(void *)(view->base + (ptrdiff_t)at * view->shape->stride[5]);
}

static void copy_row(const struct rows *rows, int32_t row, const struct tilewright_view *to,
                     int32_t at)
{
    const int32_t *stride = to->shape->stride;
    for (int32_t k = 0; k < rows->width; k++) {
        uint8_t *y = to->base + (ptrdiff_t)at * stride[4] + (ptrdiff_t)k * stride[5];
        for (int32_t i = 0; i < rows->element_bytes; i++) {
            y[i] = row < 0 ? 0u : rows->base[row * rows->row_stride + k * rows->stride + i];
        }
    }
}

/* Give each row the first row that equals it, which sorting has put in front of the others. */
static void find_first(const struct rows *rows, const int32_t *numbers, int32_t count,
                       const struct tilewright_view *first)
{
    int32_t group = numbers[0];
    for (int32_t i = 0; i < count; i++) {
        if (order(rows, group, numbers[i]) != 0) {
            group = numbers[i];
        }
        *entry(first, numbers[i]) = group;
    }
}

/* Store a row that no earlier row equals, and its position. */
static void store_found(const struct rows *rows, const struct tilewright_view *operands,
                        int32_t row, int32_t number)
{
    if (number < operands[2].shape->extent[5]) {
        copy_row(rows, row, &operands[1], number);
        *entry(&operands[2], number) = row;
        *entry(&operands[4], number) = 0;
    }
}

/* Number the different rows, as sorted or as they come; numbers[first row] becomes the number. */
static int32_t number_rows(const struct rows *rows, const struct tilewright_view *operands,
                           int32_t *numbers, int32_t count, int32_t is_sorted)
{
    int32_t found = 0;
    /* The sorted order in `numbers` is read until each different row has its number, so these wait
     * in operands[3], as -1 - number in the entry of the first of equal rows. */
    for (int32_t i = 0; i < count; i++) {
        const int32_t row = is_sorted ? numbers[i] : i;
        if (*entry(&operands[3], row) == row) {
            store_found(rows, operands, row, found);
            *entry(&operands[3], row) = -1 - (int64_t)found;
            found++;
        }
    }
    for (int32_t row = 0; row < count; row++) {
        const int64_t first = *entry(&operands[3], row);
        numbers[row] = (int32_t)(-1 - (first < 0 ? first : *entry(&operands[3], (int32_t)first)));
    }
    return found;
}

void tilewright_found_unique(const struct tilewright_found_unique_attributes *attributes,
                             const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *shape = operands[0].shape;
    const struct rows rows = {operands[0].base, shape->stride[4],          shape->stride[5],
                              shape->extent[5], attributes->element_bytes, attributes->kind};
    const int32_t count = shape->extent[4];
    const int32_t bound = operands[2].shape->extent[5];
    int32_t *numbers = (int32_t *)(void *)(operands[6].base + attributes->order_at);

    (void)flags;
    sort(&rows, numbers, count);
    find_first(&rows, numbers, count, &operands[3]);
    const int32_t found = number_rows(&rows, operands, numbers, count, attributes->is_sorted);
    for (int32_t row = 0; row < count; row++) {
        *entry(&operands[3], row) = numbers[row];
        if (numbers[row] < bound) {
            *entry(&operands[4], numbers[row]) += 1;
        }
    }
    for (int32_t at = found; at < bound; at++) {
        copy_row(&rows, -1, &operands[1], at);
        *entry(&operands[2], at) = -1;
        *entry(&operands[4], at) = 0;
    }
    *(int32_t *)(void *)operands[5].base = found;
}
