/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose elements side by side take vectors, against the same kernels with elements apart,
 * which take none; and windows of poolings against plain loops. */
#include <stdio.h>
#include <tilewright/kernels/declarations.h>
#include <tilewright/runtime.h>

#include "random_work.h"

enum { CASES = 200, MOST = 70, APART = 3 };

static uint8_t a[2][APART * MOST], b[2][APART * MOST], y[2][APART * MOST], table[256];

static int32_t flip(void)
{
    return between(0, 1) * 128;
}

static void add_split(const struct tilewright_view *views, uint32_t seed)
{
    state = seed;
    const struct tilewright_add_split_attributes given = {
        .a_flip = flip(),
        .b_flip = flip(),
        .a_multiplier = {between(-3000000, 3000000), between(0, 4095)},
        .b_multiplier = {between(-3000000, 3000000), between(0, 4095)},
        .addend = {between(-90000000, 90000000), between(0, 4095)},
        .shift = between(15, 24),
        .minimum = between(-128, 0),
        .maximum = between(1, 127)};
    const struct tilewright_view operands[] = {views[0], views[1], views[2]};
    tilewright_add_split(&given, operands, TILEWRIGHT_WHOLE);
}

static void add_shifted(const struct tilewright_view *views, uint32_t seed)
{
    state = seed;
    const struct tilewright_add_shifted_attributes given = {.a_flip = flip(),
                                                            .b_flip = flip(),
                                                            .multiplier = between(-60000, 60000),
                                                            .addend = between(-9000000, 9000000),
                                                            .shift = between(8, 20),
                                                            .minimum = between(-128, 0),
                                                            .maximum = between(1, 127)};
    const struct tilewright_view operands[] = {views[0], views[1], views[2]};
    tilewright_add_shifted(&given, operands, TILEWRIGHT_WHOLE);
}

static void lookup(const struct tilewright_view *views, uint32_t seed)
{
    state = seed;
    const struct tilewright_lookup_attributes given = {.flip = flip()};
    const struct tilewright_view operands[] = {views[0], {table, NULL}, views[2]};
    tilewright_lookup_bytes(&given, operands, TILEWRIGHT_WHOLE);
}

typedef void kernel(const struct tilewright_view *views, uint32_t seed);

/* The number of elements of y that differ. */
static uint32_t compare(kernel *run)
{
    const int32_t count = between(1, MOST);
    const uint32_t seed = next();
    const struct tilewright_shape shapes[] = {
        {{1}, {count, 1, 1, 1, 1, 1}, {0}, 0, 0},
        {{APART}, {count, 1, 1, 1, 1, 1}, {0}, 0, 0},
    };
    for (int32_t i = 0; i < count; i++) {
        a[0][i] = a[1][APART * i] = (uint8_t)next();
        b[0][i] = b[1][APART * i] = (uint8_t)next();
    }
    for (int32_t i = 0; i < 2; i++) {
        const struct tilewright_view views[] = {
            {a[i], &shapes[i]}, {b[i], &shapes[i]}, {y[i], &shapes[i]}};
        y[i][i == 0 ? count : 0] = 99;
        run(views, seed);
    }
    uint32_t differences = count < MOST && y[0][count] != 99;
    for (int32_t i = 0; i < count; i++) {
        differences += y[0][i] != y[1][APART * i];
    }
    state = seed + 1;
    return differences;
}

/* A window of x, whose rows are whole or not. */
struct pool {
    int32_t kernel[2], dilations[2], is_unsigned;
};

enum { ROWS = 5, COLUMNS = 13, CHANNELS = 23 };

/* What serves the window where channels lie side by side; NULL in some cases. */
static tilewright_largest_bytes *largest_of(const struct pool *pool)
{
    static tilewright_largest_bytes *const squares[2][2] = {
        {tilewright_largest_int8_2x2, tilewright_largest_int8_3x3},
        {tilewright_largest_uint8_2x2, tilewright_largest_uint8_3x3}};
    const int32_t side = pool->kernel[0];
    if (between(0, 3) == 0) {
        return NULL;
    }
    if (side == pool->kernel[1] && (side == 2 || side == 3)) {
        return squares[pool->is_unsigned][side - 2];
    }
    return pool->is_unsigned != 0 ? tilewright_largest_uint8 : tilewright_largest_int8;
}

/* The largest element, or the sum of all over their number, rounded half away from zero. */
static int32_t by_loop(const struct pool *pool, const uint8_t *x, int32_t is_sum)
{
    int32_t largest = -128, sum = 0;
    const int32_t count = pool->kernel[0] * pool->kernel[1];
    for (int32_t i = 0; i < count; i++) {
        const int32_t row = i / pool->kernel[1] * pool->dilations[0];
        const int32_t column = i % pool->kernel[1] * pool->dilations[1];
        const uint8_t byte = x[CHANNELS * (row * COLUMNS + column)];
        const int32_t value = pool->is_unsigned != 0 ? byte : (int8_t)byte;
        largest = value > largest ? value : largest;
        sum += value;
    }
    return is_sum != 0 ? (sum + (sum > 0 ? count / 2 : -(count / 2))) / count : largest;
}

/* Elements of y that differ, of one window for all channels. */
static uint32_t compare_pools(void)
{
    static uint8_t x[ROWS * COLUMNS * CHANNELS];
    struct tilewright_shape in = {
        {0, 1, COLUMNS * CHANNELS, CHANNELS}, {1, CHANNELS, ROWS, COLUMNS}, {0}, 0, 0};
    const struct tilewright_shape out = {{0, 1, 0, 0}, {1, CHANNELS, 1, 1}, {0}, 0, 0};
    struct tilewright_view views[] = {{x, &in}, {y[0], &out}};
    struct pool pool = {{between(1, ROWS), COLUMNS}, {1, 1}, between(0, 1)};
    const int32_t is_sum = between(0, 1);
    uint32_t differences = 0;

    if (between(0, 2) != 0) {
        pool.dilations[1] = between(1, 2);
        pool.kernel[1] = between(1, (COLUMNS - 1) / pool.dilations[1] + 1);
    }
    if (between(0, 2) == 0) {
        pool.kernel[0] = pool.kernel[1] = between(2, 3);
    }
    for (int32_t i = 0; i < ROWS * COLUMNS * CHANNELS; i++) {
        x[i] = (uint8_t)next();
    }
    if (between(0, 2) == 0) {
        /* The window's rows from the last to the first, which changes no result. */
        views[0].base = x + (pool.kernel[0] - 1) * in.stride[2];
        in.stride[2] = -in.stride[2];
        in.extent[2] = pool.kernel[0];
    }
    if (is_sum != 0) {
        const struct tilewright_average_pool_away_attributes given = {
            .kernel = {pool.kernel[0], pool.kernel[1]},
            .strides = {1, 1},
            .dilations = {pool.dilations[0], pool.dilations[1]},
            .counted = {0, ROWS, 0, COLUMNS},
            .is_unsigned = pool.is_unsigned,
            .minimum = -128,
            .maximum = 255};
        tilewright_average_pool_away(&given, views, TILEWRIGHT_WHOLE);
    } else {
        const struct tilewright_max_pool_integer_attributes given = {
            .kernel = {pool.kernel[0], pool.kernel[1]},
            .strides = {1, 1},
            .dilations = {pool.dilations[0], pool.dilations[1]},
            .is_unsigned = pool.is_unsigned,
            .largest = largest_of(&pool)};
        tilewright_max_pool_integer(&given, views, TILEWRIGHT_WHOLE);
    }
    for (int32_t c = 0; c < CHANNELS; c++) {
        differences += y[0][c] != (uint8_t)by_loop(&pool, x + c, is_sum);
    }
    return differences;
}

int main(void)
{
    static kernel *const kernels[] = {add_split, add_shifted, lookup};
    uint32_t differences = 0, cases = 0;
    for (int32_t i = 0; i < 256; i++) {
        table[i] = (uint8_t)next();
    }
    for (; cases < CASES; cases++) {
        differences += cases % 4 == 3 ? compare_pools() : compare(kernels[cases % 4]);
    }
    printf("%u cases: %u differ\n", (unsigned)cases, (unsigned)differences);
    return differences != 0;
}
