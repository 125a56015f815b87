/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies scans of handwritten digits and says how well, how fast and in how much memory. */
#include <stdio.h>
#include <tilewright/port.h>

#include "digits.h"
#include "images.h"

#define PIXELS 64
#define CLASSES 10
#define REQUIRED_PERCENT 95

_Alignas(DIGITS_POOL_L1_ALIGN)
    __attribute__((section(".bss.tilewright.l1"))) static uint8_t l1[DIGITS_POOL_L1_SIZE];

static int8_t quantized(uint8_t pixel)
{
    const int32_t steps = (int32_t)((float)pixel / DIGITS_INPUT_IMAGE_SCALE + 0.5F);
    return (int8_t)(steps + DIGITS_INPUT_IMAGE_ZERO_POINT);
}

static int best(const int8_t *scores)
{
    int winner = 0;
    for (int digit = 1; digit < CLASSES; ++digit) {
        if (scores[digit] > scores[winner]) {
            winner = digit;
        }
    }
    return winner;
}

static void print_pool(const char *name, unsigned used, unsigned bound)
{
    printf("pool %-5s %6u bytes used, lower bound %6u, gap %u\n", name, used, bound, used - bound);
}

int main(void)
{
    int8_t image[PIXELS];
    int8_t scores[CLASSES];
    const struct digits_inputs inputs = {image};
    const struct digits_outputs outputs = {scores};
    const struct digits_pools pools = {.l1 = l1};
    int correct = 0;
    uint32_t instructions = 0;

    for (int number = 0; number < DIGITS_IMAGES; ++number) {
        for (int pixel = 0; pixel < PIXELS; ++pixel) {
            image[pixel] = quantized(digits_images[number][pixel]);
        }
        const uint32_t start = tilewright_cycles();
        if (digits_run(&inputs, &outputs, &pools) != DIGITS_OK) {
            return 2;
        }
        instructions = tilewright_cycles() - start;
        correct += best(scores) == digits_labels[number];
    }

    printf("accuracy %d.%d %% (%d of %d images, onnxruntime %d)\n", correct * 100 / DIGITS_IMAGES,
           correct * 1000 / DIGITS_IMAGES % 10, correct, DIGITS_IMAGES,
           DIGITS_CORRECT_BY_ONNXRUNTIME);
    printf("instructions per inference %u\n", (unsigned)instructions);
    print_pool("l1", DIGITS_POOL_L1_SIZE, DIGITS_POOL_L1_LOWER_BOUND);
    print_pool("flash", DIGITS_POOL_FLASH_SIZE, DIGITS_POOL_FLASH_LOWER_BOUND);
    return correct * 100 >= REQUIRED_PERCENT * DIGITS_IMAGES &&
                   correct == DIGITS_CORRECT_BY_ONNXRUNTIME
               ? 0
               : 1;
}
