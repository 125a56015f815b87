/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose elements side by side take vectors, against the same kernels with elements apart,
 * which take none. */
#include <stdio.h>
#include <tilewright/kernels/declarations.h>
#include <tilewright/runtime.h>

enum { CASES = 200, MOST = 70, APART = 3 };

static uint8_t a[2][APART * MOST], b[2][APART * MOST], y[2][APART * MOST], table[256];
static uint32_t state = 1;

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static int32_t between(int32_t low, int32_t high)
{
    return low + (int32_t)(next() % (uint32_t)(high - low + 1));
}

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

/* Elements of y that differ. */
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

/* The largest elements of a window of x, and the same by a loop. */
static uint32_t compare_pools(void)
{
    enum { ROWS = 5, COLUMNS = 13, CHANNELS = 3 };
    static uint8_t x[ROWS * COLUMNS * CHANNELS];
    uint32_t differences = 0;
    const struct tilewright_max_pool_integer_attributes given = {.kernel = {ROWS, COLUMNS},
                                                                 .strides = {1, 1},
                                                                 .dilations = {1, 1},
                                                                 .is_unsigned = between(0, 1)};
    const int32_t flipped = given.is_unsigned != 0 ? 0 : 128;
    const struct tilewright_shape in = {
        {0, 1, COLUMNS * CHANNELS, CHANNELS}, {1, CHANNELS, ROWS, COLUMNS}, {0}, 0, 0};
    const struct tilewright_shape out = {{0, 1, 0, 0}, {1, CHANNELS, 1, 1}, {0}, 0, 0};
    const struct tilewright_view views[] = {{x, &in}, {y[0], &out}};
    for (int32_t i = 0; i < ROWS * COLUMNS * CHANNELS; i++) {
        x[i] = (uint8_t)next();
    }
    tilewright_max_pool_integer(&given, views, TILEWRIGHT_WHOLE);
    for (int32_t c = 0; c < CHANNELS; c++) {
        int32_t largest = 0;
        for (int32_t i = 0; i < ROWS * COLUMNS; i++) {
            const int32_t value = x[CHANNELS * i + c] ^ flipped;
            largest = value > largest ? value : largest;
        }
        differences += y[0][c] != (uint8_t)(largest ^ flipped);
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
