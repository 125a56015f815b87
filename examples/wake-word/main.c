/* SPDX-License-Identifier: Apache-2.0 */
/* Listens to a stored recording, one frame at a time, and says when it hears the word. */
#include <stdio.h>

#include "recording.h"
#include "wake_word.h"

#define FRAME WAKE_WORD_INPUT_FRAME_COUNT
#define MILLISECONDS 20

static float frame[FRAME];
static float score[WAKE_WORD_OUTPUT_SCORE_COUNT];
static const struct wake_word_inputs inputs = {.frame = frame};
static const struct wake_word_outputs outputs = {.score = score};

/* Returns how often the word was heard where onnxruntime hears it, or -1 after a fault. */
static int listen(const int8_t *samples)
{
    int heard = 0;
    int was_heard = 0;
    for (int number = 0; number < RECORDING_FRAMES; ++number) {
        for (unsigned i = 0; i < FRAME; ++i) {
            frame[i] = (float)samples[(unsigned)number * FRAME + i] / 128.0F;
        }
        if (wake_word_run(&inputs, &outputs) != WAKE_WORD_OK) {
            return -1;
        }
        const int is_heard = score[0] > 0.0F;
        if (is_heard && !was_heard) {
            printf("heard at %d ms\n", number * MILLISECONDS);
            heard += heard < RECORDING_WORDS && heard_by_onnxruntime[heard] == number;
        }
        was_heard = is_heard;
    }
    return heard;
}

int main(void)
{
    for (int time = 0; time < 2; ++time) {
        wake_word_reset();
        if (listen(recording) != RECORDING_WORDS) {
            return 1;
        }
    }
    return 0;
}
