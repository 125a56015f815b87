/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at pictures as a camera gives them: some lines at a time, from a small buffer. */
#include <stdio.h>

#include "camera.h"
#include "pictures.h"

#define ROWS CAMERA_INPUT_PICTURE_ROWS
#define COLUMNS (CAMERA_INPUT_PICTURE_COUNT / ROWS)
#define MOST_LINES 5u

static const char *const kinds[] = {"disc", "square", "cross"};
static int8_t lines[MOST_LINES][COLUMNS];
static int8_t scores[CAMERA_OUTPUT_SCORES_COUNT];
static const struct camera_outputs outputs = {.scores = scores};

/* Lines [first, first + count) of a picture, in the numbers of the model. */
static void receive(int number, uint32_t first, uint32_t count)
{
    for (uint32_t line = 0; line < count; ++line) {
        for (uint32_t column = 0; column < COLUMNS; ++column) {
            const float seen = (float)pictures[number][first + line][column] / 127.5F - 1.0F;
            lines[line][column] = camera_quantize_picture(seen);
        }
    }
}

static enum camera_status look(struct camera_feeding *feeding, int number)
{
    enum camera_status status = camera_start(feeding, &outputs);
    for (uint32_t row = 0; row < ROWS && status == CAMERA_OK;) {
        /* As many lines as the camera delivered meanwhile. */
        uint32_t count = 1u + (row * 7u + (uint32_t)number) % MOST_LINES;
        count = count < ROWS - row ? count : ROWS - row;
        receive(number, row, count);
        status = camera_feed_picture(feeding, lines[0], count);
        row += count;
    }
    return status == CAMERA_OK ? camera_finish(feeding) : status;
}

int main(void)
{
    struct camera_feeding feeding = {0};
    for (int number = 0; number < PICTURES; ++number) {
        const enum camera_status status = look(&feeding, number);
        if (status != CAMERA_OK) {
            printf("%s\n", camera_status_text(status));
            return 1;
        }
        const uint32_t seen = camera_argmax_scores(scores);
        printf("a %s\n", kinds[seen]);
        if ((int)seen != seen_by_onnxruntime[number]) {
            return 2;
        }
    }
    printf("%u bytes of RAM, and %u lines of the picture\n", (unsigned)CAMERA_POOL_SRAM_SIZE,
           MOST_LINES);
    return 0;
}
