/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs lie in the pools that the firmware passes: no other memory is needed. */
#include "classify.h"

__attribute__((section(DIGITS_POOL_L1_SECTION))) _Alignas(
    DIGITS_POOL_L1_ALIGN) static uint8_t l1[DIGITS_POOL_L1_SIZE];
__attribute__((section(DIGITS_POOL_SRAM_SECTION))) _Alignas(
    DIGITS_POOL_SRAM_ALIGN) static uint8_t sram[DIGITS_POOL_SRAM_SIZE];

int main(void)
{
    const struct digits_pools pools = {.l1 = l1, .sram = sram};
    int correct = 0;

    for (int number = 0; number < DIGITS_IMAGES; ++number) {
        show(number, digits_input_image(&pools));
        if (digits_run(&pools) != DIGITS_OK) {
            return 2;
        }
        correct += best(digits_output_scores(&pools)) == digits_labels[number];
    }
    return judged(correct);
}
