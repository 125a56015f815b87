/* SPDX-License-Identifier: Apache-2.0 */
/* Two models in one set of pools, run alternately: which digit is it, and is it odd? First each
 * runs alone, then both in turn, in pools that they share and in pools where each has its part. */
#include <stdio.h>
#include <string.h>

#include "concurrent.h"
#include "exclusive.h"
#include "images.h"
#include "parity_expected.h"

#define MAXIMUM(a, b) ((a) > (b) ? (a) : (b))

_Static_assert(EXCLUSIVE_POOL_L1_SIZE == MAXIMUM(DIGITS_POOL_L1_SIZE, PARITY_POOL_L1_SIZE), "l1");
_Static_assert(CONCURRENT_POOL_L1_SIZE <= DIGITS_POOL_L1_SIZE + PARITY_POOL_L1_SIZE, "l1");

__attribute__((section(EXCLUSIVE_POOL_L1_SECTION))) _Alignas(EXCLUSIVE_POOL_L1_ALIGN) static uint8_t
    exclusive_l1[EXCLUSIVE_POOL_L1_SIZE];
__attribute__((section(CONCURRENT_POOL_L1_SECTION))) _Alignas(
    CONCURRENT_POOL_L1_ALIGN) static uint8_t concurrent_l1[CONCURRENT_POOL_L1_SIZE];

struct scores {
    float digit[DIGITS_OUTPUT_SCORES_COUNT];
    float parity[PARITY_OUTPUT_SCORES_COUNT];
};

static float image[DIGITS_INPUT_IMAGE_COUNT];
static struct scores alone[DIGITS_IMAGES];

static void show(int number)
{
    for (unsigned pixel = 0; pixel < DIGITS_INPUT_IMAGE_COUNT; ++pixel) {
        image[pixel] = (float)digits_images[number][pixel];
    }
}

static unsigned best(const float *scores, unsigned count)
{
    unsigned winner = 0;
    for (unsigned item = 1; item < count; ++item) {
        if (scores[item] > scores[winner]) {
            winner = item;
        }
    }
    return winner;
}

static int run_digits(struct scores *scores, const struct digits_pools *pools)
{
    const struct digits_inputs inputs = {image};
    const struct digits_outputs outputs = {scores->digit};
    return digits_run(&inputs, &outputs, pools) == DIGITS_OK;
}

static int run_parity(struct scores *scores, const struct parity_pools *pools)
{
    const struct parity_inputs inputs = {image};
    const struct parity_outputs outputs = {scores->parity};
    return parity_run(&inputs, &outputs, pools) == PARITY_OK;
}

/* Each model over all images by itself; whether both are as good as onnxruntime says. */
static int run_alone(const struct digits_pools *digits, const struct parity_pools *parity)
{
    int digits_right = 0;
    int parity_right = 0;
    for (int number = 0; number < DIGITS_IMAGES; ++number) {
        show(number);
        if (!run_digits(&alone[number], digits)) {
            return 0;
        }
        digits_right +=
            best(alone[number].digit, DIGITS_OUTPUT_SCORES_COUNT) == digits_labels[number];
    }
    for (int number = 0; number < DIGITS_IMAGES; ++number) {
        show(number);
        if (!run_parity(&alone[number], parity)) {
            return 0;
        }
        parity_right +=
            best(alone[number].parity, PARITY_OUTPUT_SCORES_COUNT) == digits_labels[number] % 2u;
    }
    printf("alone: digits %d, parity %d of %d right\n", digits_right, parity_right, DIGITS_IMAGES);
    return digits_right == DIGITS_CORRECT_BY_ONNXRUNTIME &&
           parity_right == PARITY_CORRECT_BY_ONNXRUNTIME;
}

/* Both models in turn; the number of images whose scores differ from those of a model alone. */
static int run_in_turn(const struct digits_pools *digits, const struct parity_pools *parity)
{
    int different = 0;
    for (int number = 0; number < DIGITS_IMAGES; ++number) {
        struct scores scores;
        show(number);
        if (!run_digits(&scores, digits) || !run_parity(&scores, parity)) {
            return DIGITS_IMAGES;
        }
        different += memcmp(&scores, &alone[number], sizeof scores) != 0;
    }
    return different;
}

static uint32_t checksum(const uint8_t *bytes, uint32_t count)
{
    uint32_t sum = 2166136261u;
    for (uint32_t i = 0; i < count; ++i) {
        sum = (sum ^ bytes[i]) * 16777619u;
    }
    return sum;
}

/* Whether a run of one model leaves what the other has in its part. */
static int parts_are_apart(const struct digits_pools *digits, const struct parity_pools *parity)
{
    struct scores scores;
    const uint32_t l1 = checksum(digits->l1, DIGITS_POOL_L1_SIZE);
    if (!run_parity(&scores, parity)) {
        return 0;
    }
    return l1 == checksum(digits->l1, DIGITS_POOL_L1_SIZE);
}

int main(void)
{
    const struct exclusive_pools shared = {.l1 = exclusive_l1};
    const struct digits_pools digits = exclusive_digits_pools(&shared);
    const struct parity_pools parity = exclusive_parity_pools(&shared);
    const struct concurrent_pools apart = {.l1 = concurrent_l1};
    const struct digits_pools digits_part = concurrent_digits_pools(&apart);
    const struct parity_pools parity_part = concurrent_parity_pools(&apart);

    if (!run_alone(&digits, &parity)) {
        return 2;
    }
    const int exclusive = run_in_turn(&digits, &parity);
    const int concurrent = run_in_turn(&digits_part, &parity_part);
    const int kept = parts_are_apart(&digits_part, &parity_part);
    printf("exclusive: l1 %u bytes; %d images differ\n", EXCLUSIVE_POOL_L1_SIZE, exclusive);
    printf("concurrent: l1 %u bytes; %d images differ; parts %s\n", CONCURRENT_POOL_L1_SIZE,
           concurrent, kept ? "apart" : "NOT APART");
    return exclusive == 0 && concurrent == 0 && kept ? 0 : 1;
}
