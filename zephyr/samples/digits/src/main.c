/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies scans of handwritten digits, and says how many it got right. */
#include <stdio.h>

#include "digits.h"
#include "images.h"

#define PIXELS 64
#define CLASSES 10
#define REQUIRED_PERCENT 95

int main(void)
{
    static int8_t image[PIXELS];
    static int8_t scores[CLASSES];
    const struct digits_inputs inputs = {image};
    const struct digits_outputs outputs = {scores};
    int correct = 0;

    for (int number = 0; number < DIGITS_IMAGES; ++number) {
        for (int pixel = 0; pixel < PIXELS; ++pixel) {
            image[pixel] = digits_quantize_image((float)digits_images[number][pixel]);
        }
        if (digits_run(&inputs, &outputs) != DIGITS_OK) {
            printf("the run failed\n");
            return 1;
        }
        correct += digits_argmax_scores(scores) == digits_labels[number];
    }
    printf("%d of %d digits\n", correct, DIGITS_IMAGES);
    return correct * 100 >= DIGITS_IMAGES * REQUIRED_PERCENT ? 0 : 1;
}
