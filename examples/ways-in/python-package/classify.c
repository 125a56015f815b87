/* SPDX-License-Identifier: Apache-2.0 */
/* What Python calls: an image of 64 numbers from 0 to 16 becomes a digit, or -1. */
#include "digits.h"

int classify(const float *image);

int classify(const float *image)
{
    float scores[DIGITS_OUTPUT_SCORES_COUNT];
    const struct digits_inputs inputs = {image};
    const struct digits_outputs outputs = {scores};
    int winner = 0;
    if (digits_run(&inputs, &outputs) != DIGITS_OK) {
        return -1;
    }
    for (int digit = 1; digit < (int)DIGITS_OUTPUT_SCORES_COUNT; ++digit) {
        if (scores[digit] > scores[winner]) {
            winner = digit;
        }
    }
    return winner;
}
