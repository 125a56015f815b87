/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of this example do with an image and with scores. */
#ifndef CLASSIFY_H
#define CLASSIFY_H

#include <stdio.h>

#include "digits.h"
#include "images.h"

/* Write an image where the model reads it. */
static inline void show(int number, int8_t *input)
{
    for (unsigned pixel = 0; pixel < DIGITS_INPUT_IMAGE_COUNT; ++pixel) {
        const float value = (float)digits_images[number][pixel];
        const int32_t steps = (int32_t)(value / DIGITS_INPUT_IMAGE_SCALE + 0.5F);
        input[pixel] = (int8_t)(steps + DIGITS_INPUT_IMAGE_ZERO_POINT);
    }
}

/* The digit with the highest score. */
static inline unsigned best(const int8_t *scores)
{
    unsigned winner = 0;
    for (unsigned digit = 1; digit < DIGITS_OUTPUT_SCORES_COUNT; ++digit) {
        if (scores[digit] > scores[winner]) {
            winner = digit;
        }
    }
    return winner;
}

/* Prints the result; the exit status. */
static inline int judged(int correct)
{
    printf("%d of %d images right, onnxruntime %d\n", correct, DIGITS_IMAGES,
           DIGITS_CORRECT_BY_ONNXRUNTIME);
    printf("pools: l1 %u, sram %u bytes\n", DIGITS_POOL_L1_SIZE, DIGITS_POOL_SRAM_SIZE);
    return correct == DIGITS_CORRECT_BY_ONNXRUNTIME ? 0 : 1;
}

#endif
