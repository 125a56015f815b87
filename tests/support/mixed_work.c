/* SPDX-License-Identifier: Apache-2.0 */
/* Work that makes a compiler use most of RV32IMC: long integers, floats in software, tables of
 * jumps, recursion, pointers to functions. Prints one checksum of each. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 300 };

static uint32_t state = 12345;

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state ^ state >> 13;
}

static uint32_t mixed(uint32_t sum, uint32_t value)
{
    return (sum << 5 | sum >> 27) ^ value;
}

static uint32_t of_longs(void)
{
    uint32_t sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const int64_t a = (int64_t)((uint64_t)next() << 32 | next()) >> next() % 40u;
        const int64_t b = (int64_t)(int32_t)next() >> next() % 31u;
        const int64_t divisor = b == 0 ? 1 : b;
        const uint64_t results[] = {(uint64_t)a * (uint64_t)b, (uint64_t)(a / divisor),
                                    (uint64_t)(a % divisor), (uint64_t)a >> (next() % 64u),
                                    (uint64_t)(a < b)};
        for (uint32_t r = 0; r < sizeof results / sizeof results[0]; r++) {
            sum = mixed(mixed(sum, (uint32_t)results[r]), (uint32_t)(results[r] >> 32));
        }
    }
    return sum;
}

static uint32_t of_floats(void)
{
    uint32_t sum = 0, bits;
    float value = 1.5f;
    double wide = 0.25;
    for (int i = 0; i < ROUNDS; i++) {
        const float other = (float)(int32_t)next() / 65536.0f;
        value = value * 0.75f + other / (value + 100000.0f);
        wide = wide * 1.0000001 + (double)value / 3.0;
        memcpy(&bits, &value, sizeof bits);
        sum = mixed(mixed(sum, bits), (uint32_t)(int32_t)wide);
    }
    return sum;
}

static int32_t chosen(uint32_t which, int32_t a, int32_t b)
{
    switch (which) {
    case 0:
        return a / (b | 1);
    case 1:
        return a % (b | 1);
    case 2:
        return (int32_t)((uint32_t)a << (b & 31));
    case 3:
        return a >> (b & 31);
    case 4:
        return (int32_t)(((int64_t)a * b) >> 32);
    case 5:
        return (int32_t)((uint64_t)(uint32_t)a * (uint32_t)b >> 32);
    case 6:
        return a < b ? a : b;
    case 7:
        return (int8_t)a + (int16_t)b;
    default:
        return (uint8_t)a - (uint16_t)b;
    }
}

static uint32_t of_choices(void)
{
    uint32_t sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const uint32_t which = next() % 9u;
        const int32_t a = (int32_t)next();
        const int32_t b = (int32_t)next();
        sum = mixed(sum, (uint32_t)chosen(which, a, b));
    }
    return sum;
}

typedef int order(const void *a, const void *b);

static int by_size(const void *a, const void *b)
{
    const uint16_t first = *(const uint16_t *)a, second = *(const uint16_t *)b;
    return first < second ? -1 : first > second;
}

static int backwards(const void *a, const void *b)
{
    return by_size(b, a);
}

static void sort(uint16_t *values, int count, order *compare)
{
    if (count < 2) {
        return;
    }
    int below = 0;
    for (int i = 1; i < count; i++) {
        if (compare(&values[i], &values[0]) < 0) {
            below++;
            const uint16_t kept = values[below];
            values[below] = values[i];
            values[i] = kept;
        }
    }
    const uint16_t pivot = values[0];
    values[0] = values[below];
    values[below] = pivot;
    sort(values, below, compare);
    sort(values + below + 1, count - below - 1, compare);
}

static uint32_t of_sorting(order *compare)
{
    uint16_t values[ROUNDS];
    uint32_t sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        values[i] = (uint16_t)next();
    }
    sort(values, ROUNDS, compare);
    for (int i = 0; i < ROUNDS; i++) {
        sum = mixed(sum, values[i]);
    }
    return sum;
}

int main(void)
{
    printf("longs %08lx\n", (unsigned long)of_longs());
    printf("floats %08lx\n", (unsigned long)of_floats());
    printf("choices %08lx\n", (unsigned long)of_choices());
    printf("sorted %08lx\n", (unsigned long)of_sorting(by_size));
    printf("sorted backwards %08lx\n", (unsigned long)of_sorting(backwards));
    return 0;
}
