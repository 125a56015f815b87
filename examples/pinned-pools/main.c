/* SPDX-License-Identifier: Apache-2.0 */
/* Pools where the board wants them: one in a section, one at an address, constants in two. */
#include <stdio.h>
#include <string.h>

#include "digits.h"
#include "digits_layout.h"
#include "images.h"

/* The regions of board.toml. */
#define DTCM_BASE 0x86000000u
#define ITCM_BASE 0x86100000u
#define FLASH_BASE 0x80000000u

#define GUARD_BYTES 64
#define GUARD 0x5a

_Static_assert(DIGITS_POOL_PSRAM_BASE == 0x86500000u, "POOLS of the call win over the platform");
_Static_assert(DIGITS_POOL_DTCM_SIZE > 0u && DIGITS_POOL_PSRAM_SIZE > 0u, "both are needed");

__attribute__((section(DIGITS_POOL_DTCM_SECTION))) _Alignas(
    DIGITS_POOL_DTCM_ALIGN) static uint8_t dtcm[DIGITS_POOL_DTCM_SIZE];

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

static int classify(void)
{
    const struct digits_inputs inputs = {image};
    const struct digits_outputs outputs = {scores};
    const struct digits_pools pools = {.dtcm = dtcm};
    int correct = 0;
    for (int number = 0; number < DIGITS_IMAGES; ++number) {
        for (unsigned pixel = 0; pixel < DIGITS_INPUT_IMAGE_COUNT; ++pixel) {
            image[pixel] = (float)digits_images[number][pixel];
        }
        if (digits_run(&inputs, &outputs, &pools) != DIGITS_OK) {
            return -1;
        }
        correct += best() == digits_labels[number];
    }
    return correct;
}

static int is_inside(const void *object, size_t size, uintptr_t base, size_t length)
{
    const uintptr_t begin = (uintptr_t)object;
    return begin >= base && begin + size <= base + length;
}

static int is_filled(const uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; ++i) {
        if (bytes[i] != GUARD) {
            return 0;
        }
    }
    return 1;
}

int main(void)
{
    uint8_t *const psram = (uint8_t *)(uintptr_t)DIGITS_POOL_PSRAM_BASE;
    uint8_t *const behind = psram + DIGITS_POOL_PSRAM_SIZE;
    memset(psram - GUARD_BYTES, GUARD, DIGITS_POOL_PSRAM_SIZE + 2 * GUARD_BYTES);

    const int correct = classify();
    const int in_place = is_inside(dtcm, sizeof dtcm, DTCM_BASE, 0x1000) &&
                         is_inside(&digits_itcm, sizeof digits_itcm, ITCM_BASE, 0x2000) &&
                         is_inside(&digits_flash, sizeof digits_flash, FLASH_BASE, 0x4000000);
    const int kept = is_filled(psram - GUARD_BYTES, GUARD_BYTES) && is_filled(behind, GUARD_BYTES);
    const int used = !is_filled(psram, DIGITS_POOL_PSRAM_SIZE);

    printf("%d of %d images right, onnxruntime %d\n", correct, DIGITS_IMAGES,
           DIGITS_CORRECT_BY_ONNXRUNTIME);
    printf("dtcm %u, psram %u, itcm %u, flash %u bytes; sections %s, psram %s\n",
           DIGITS_POOL_DTCM_SIZE, DIGITS_POOL_PSRAM_SIZE, DIGITS_POOL_ITCM_SIZE,
           DIGITS_POOL_FLASH_SIZE, in_place ? "in place" : "ELSEWHERE",
           kept && used ? "used, its neighbours untouched" : "WRONG");
    return correct == DIGITS_CORRECT_BY_ONNXRUNTIME && in_place && kept && used ? 0 : 1;
}
