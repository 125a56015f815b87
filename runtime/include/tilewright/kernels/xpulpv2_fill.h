/* SPDX-License-Identifier: Apache-2.0 */
/* Padding for kernels of family xpulpv2. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_XPULPV2_FILL_H
#define TILEWRIGHT_KERNELS_XPULPV2_FILL_H

#include "tilewright/kernels/integer_core.h"
#include "tilewright/kernels/xpulpv2_words.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stores a word from `from` up to `end`, which is a number of whole words behind it. */
TILEWRIGHT_INLINE void tilewright_xpulpv2_fill(uint8_t *from, const uint8_t *end, uint32_t word)
{
#if defined(__riscv) && __riscv_xlen == 32
    const uint32_t fours = (uint32_t)(end - from) / 16u;
    /* clang-format off */
    if (fours > 0) {
        __asm__ volatile(
            XPULPV2_LOOP("%[fours]", "8")
            XPULPV2_STORE_WORD_STEP("%[word]", "%[from]", "%[step]")
            XPULPV2_STORE_WORD_STEP("%[word]", "%[from]", "%[step]")
            XPULPV2_STORE_WORD_STEP("%[word]", "%[from]", "%[step]")
            XPULPV2_STORE_WORD_STEP("%[word]", "%[from]", "%[step]")
            XPULPV2_LOOP_END
            : [from] "+r"(from)
            : [fours] "r"(fours), [word] "r"(word), [step] "r"(4)
            : "memory");
    }
    /* clang-format on */
#endif
    for (; from != end; from += 4) {
        tilewright_store_word(from, word);
    }
}

#ifdef __cplusplus
}
#endif

#endif
