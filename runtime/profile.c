/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/profile.h"

/* 20 digits of the largest 64-bit number, and the terminating zero. */
#define NUMBER_BYTES 21u
#define COLUMN 12u

struct output {
    void (*put)(const char *text, void *argument);
    void *argument;
};

static void put(const struct output *output, const char *text)
{
    output->put(text, output->argument);
}

static void put_padded(const struct output *output, const char *text)
{
    uint32_t length = 0;
    while (text[length] != '\0') {
        length++;
    }
    for (; length < COLUMN; length++) {
        put(output, " ");
    }
    put(output, " ");
    put(output, text);
}

static void put_number(const struct output *output, uint64_t number)
{
    char digits[NUMBER_BYTES];
    uint32_t at = NUMBER_BYTES - 1u;
    digits[at] = '\0';
    do {
        at--;
        digits[at] = (char)('0' + (int)(number % 10u));
        number /= 10u;
    } while (number != 0u);
    put_padded(output, &digits[at]);
}

static void put_line(const struct output *output, const char *model, const uint64_t *numbers,
                     const char *name)
{
    put(output, "profile ");
    put(output, model);
    for (uint32_t i = 0; i < 5u; i++) {
        put_number(output, numbers[i]);
    }
    put(output, "  ");
    put(output, name);
    put(output, "\n");
}

void tilewright_profile_print(const char *model, const char *unit,
                              const struct tilewright_profile_layer *layers,
                              const struct tilewright_profile *measured, uint32_t count,
                              void (*put_text)(const char *text, void *argument), void *argument)
{
    const struct output output = {put_text, argument};
    const char *const headings[] = {unit, "in kernels", "waiting", "bytes copied", "MACs"};
    uint64_t totals[5] = {0, 0, 0, 0, 0};
    put(&output, "profile ");
    put(&output, model);
    for (uint32_t i = 0; i < 5u; i++) {
        put_padded(&output, headings[i]);
    }
    put(&output, "  layer\n");
    for (uint32_t layer = 0; layer < count; layer++) {
        const struct tilewright_profile *row = &measured[layer];
        const uint64_t numbers[5] = {row->cycles, row->kernel_cycles, row->wait_cycles,
                                     row->copied_bytes, layers[layer].macs};
        for (uint32_t i = 0; i < 5u; i++) {
            totals[i] += numbers[i];
        }
        put_line(&output, model, numbers, layers[layer].name);
    }
    put_line(&output, model, totals, "(all layers)");
}
