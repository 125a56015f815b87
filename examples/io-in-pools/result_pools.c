/* SPDX-License-Identifier: Apache-2.0 */
/* The image lies where the application has it, the scores in a pool of the model: the model never
 * writes the image. */
#include "classify.h"

static _Alignas(DIGITS_INPUT_IMAGE_ALIGN) int8_t image[DIGITS_INPUT_IMAGE_COUNT];

int main(void)
{
    const struct digits_inputs inputs = {.image = image};
    int correct = 0;

    for (int number = 0; number < DIGITS_IMAGES; ++number) {
        show(number, image);
        if (digits_run(&inputs) != DIGITS_OK) {
            return 2;
        }
        correct += best(digits_output_scores()) == digits_labels[number];
    }
    return judged(correct);
}
