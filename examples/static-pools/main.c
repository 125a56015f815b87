/* SPDX-License-Identifier: Apache-2.0 */
/* The model brings its own memory: the firmware passes inputs and outputs, nothing else. */
#include <stdio.h>

#include "digits.h"
#include "images.h"

static float image[DIGITS_INPUT_IMAGE_COUNT];
static float scores[DIGITS_OUTPUT_SCORES_COUNT];

static unsigned best(void)
{
    unsigned winner = 0;
    for (unsigned digit = 1; digit < DIGITS_OUTPUT_SCORES_COUNT; ++digit) {
        if (scores[digit] > scores[winner]) {
            winner = digit;
        }
    }
    return winner;
}

int main(void)
{
    const struct digits_inputs inputs = {image};
    const struct digits_outputs outputs = {scores};
    int correct = 0;

    for (int number = 0; number < DIGITS_IMAGES; ++number) {
        for (unsigned pixel = 0; pixel < DIGITS_INPUT_IMAGE_COUNT; ++pixel) {
            image[pixel] = (float)digits_images[number][pixel];
        }
        if (digits_run(&inputs, &outputs) != DIGITS_OK) {
            return 2;
        }
        correct += best() == digits_labels[number];
    }
    printf("%d of %d images right, onnxruntime %d\n", correct, DIGITS_IMAGES,
           DIGITS_CORRECT_BY_ONNXRUNTIME);
    printf("pool of the model's own: l1 %u bytes\n", DIGITS_POOL_L1_SIZE);
    return correct == DIGITS_CORRECT_BY_ONNXRUNTIME ? 0 : 1;
}
