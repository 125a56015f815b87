/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/add_split.h"

#include "tilewright/kernels/dense.h"
#include "tilewright/kernels/walk.h"
#include "tilewright/kernels/xpulpv2_words.h"

#if defined(__riscv) && __riscv_xlen == 32

/* clang-format off */
/* The sum of byte `i` of both words: with one multiplier for each operand, or with two. */
#define WHOLE_SUM(extract, i)                                                                      \
    XPULPV2_EXTRACT(extract, "%[ta]", "%[wa]", i)                                                  \
    XPULPV2_EXTRACT(extract, "%[tb]", "%[wb]", i)                                                  \
    "mul %[sum], %[ta], %[ah]\n"                                                                   \
    XPULPV2_MAC("%[sum]", "%[tb]", "%[bh]")                                                        \
    STORE_SUM
#define SPLIT_SUM(extract, i)                                                                      \
    XPULPV2_EXTRACT(extract, "%[ta]", "%[wa]", i)                                                  \
    XPULPV2_EXTRACT(extract, "%[tb]", "%[wb]", i)                                                  \
    "mv %[sum], %[cl]\n"                                                                           \
    XPULPV2_MAC("%[sum]", "%[ta]", "%[al]")                                                        \
    XPULPV2_MAC("%[sum]", "%[tb]", "%[bl]")                                                        \
    "srai %[sum], %[sum], %[below]\n"                                                              \
    XPULPV2_MAC("%[sum]", "%[ta]", "%[ah]")                                                        \
    XPULPV2_MAC("%[sum]", "%[tb]", "%[bh]")                                                        \
    STORE_SUM
#define STORE_SUM                                                                                  \
    XPULPV2_ADD_SHIFTED("%[sum]", "%[ch]", "%[shift]")                                             \
    XPULPV2_MAX("%[sum]", "%[sum]", "%[min]")                                                      \
    XPULPV2_MIN("%[sum]", "%[sum]", "%[max]")                                                      \
    XPULPV2_STORE_BYTE("%[sum]", "%[y]")

enum { WHOLE_INSTRUCTIONS = 2 + 4 * 8, SPLIT_INSTRUCTIONS = 2 + 4 * 12 };

/* Four elements of a and of b in each turn of a hardware loop. */
#define SUM_WORDS(sum_of, instructions, extract)                                                   \
    __asm__ volatile(                                                                              \
        XPULPV2_LOOP("%[fours]", "%[length]")                                                      \
        XPULPV2_LOAD_WORD("%[wa]", "%[a]")                                                         \
        XPULPV2_LOAD_WORD("%[wb]", "%[b]")                                                         \
        sum_of(extract, 0) sum_of(extract, 1) sum_of(extract, 2) sum_of(extract, 3)                \
        XPULPV2_LOOP_END                                                                           \
        : [a] "+r"(a), [b] "+r"(b), [y] "+r"(y), [wa] "=&r"(word_a), [wb] "=&r"(word_b),           \
          [ta] "=&r"(byte_a), [tb] "=&r"(byte_b), [sum] "=&r"(sum)                                 \
        : [fours] "r"(fours), [length] "i"(2 * (instructions)),                                    \
          [ah] "r"(given->a_multiplier[0]), [bh] "r"(given->b_multiplier[0]), [ch] "r"(high),      \
          [al] "r"(given->a_multiplier[1]), [bl] "r"(given->b_multiplier[1]), [cl] "r"(low),       \
          [shift] "r"(given->shift), [min] "r"(given->minimum), [max] "r"(given->maximum),         \
          [below] "i"(TILEWRIGHT_ADD_SPLIT_BELOW)                                                  \
        : "memory")
/* clang-format on */

/* Four elements of each operand at a time, as long as there are four; `at` moves on. */
TILEWRIGHT_INLINE void add_words(uint8_t **at, int32_t fours,
                                 const struct tilewright_add_split_attributes *given,
                                 const int32_t is_split)
{
    /* Elements with their sign bits flipped are larger than signed ones by what is flipped. */
    const int32_t high = given->addend[0] + given->a_flip * given->a_multiplier[0] +
                         given->b_flip * given->b_multiplier[0];
    const int32_t low = given->addend[1] + given->a_flip * given->a_multiplier[1] +
                        given->b_flip * given->b_multiplier[1];
    const uint8_t *a = at[0], *b = at[1];
    uint8_t *y = at[2];
    int32_t word_a, word_b, byte_a, byte_b, sum;
    if (given->a_flip != 0 && is_split != 0) {
        SUM_WORDS(SPLIT_SUM, SPLIT_INSTRUCTIONS, XPULPV2_SIGNED);
    } else if (given->a_flip != 0) {
        SUM_WORDS(WHOLE_SUM, WHOLE_INSTRUCTIONS, XPULPV2_SIGNED);
    } else if (is_split != 0) {
        SUM_WORDS(SPLIT_SUM, SPLIT_INSTRUCTIONS, XPULPV2_UNSIGNED);
    } else {
        SUM_WORDS(WHOLE_SUM, WHOLE_INSTRUCTIONS, XPULPV2_UNSIGNED);
    }
    at[0] += 4 * fours;
    at[1] += 4 * fours;
    at[2] = y;
}

#else

TILEWRIGHT_INLINE void add_words(uint8_t **at, int32_t fours,
                                 const struct tilewright_add_split_attributes *given,
                                 const int32_t is_split)
{
    static const int32_t side_by_side[] = {1, 1, 1};
    (void)is_split;
    tilewright_add_split_elements(at, side_by_side, 4 * fours, given);
    for (int32_t i = 0; i < 3; i++) {
        at[i] += 4 * fours;
    }
}

#endif

TILEWRIGHT_INLINE void add_row(uint8_t *const *at, const int32_t *stride, int32_t count,
                               const struct tilewright_add_split_attributes *given,
                               const int32_t is_split)
{
    uint8_t *moving[] = {at[0], at[1], at[2]};
    const int32_t is_beside = stride[0] == 1 && stride[1] == 1 && stride[2] == 1;
    if (is_beside != 0 && given->a_flip == given->b_flip && count >= 4) {
        add_words(moving, count / 4, given, is_split);
        count %= 4;
    }
    tilewright_add_split_elements(moving, stride, count, given);
}

static void whole_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    add_row(at, stride, count, context, 0);
}

static void split_row(uint8_t *const *at, const int32_t *stride, int32_t count, const void *context)
{
    add_row(at, stride, count, context, 1);
}

TILEWRIGHT_INLINE void add(const struct tilewright_add_split_attributes *attributes,
                           const struct tilewright_view *operands, tilewright_row_function row)
{
    static const int32_t side_by_side[] = {1, 1, 1};
    const int32_t elements = tilewright_dense_elements(operands, 3);
    if (elements != 0) {
        uint8_t *const at[] = {operands[0].base, operands[1].base, operands[2].base};
        row(at, side_by_side, elements, attributes);
        return;
    }
    tilewright_walk_pair(operands, &operands[2], row, attributes);
}

void tilewright_add_xpulpv2_whole(const struct tilewright_add_split_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    add(attributes, operands, whole_row);
}

void tilewright_add_xpulpv2_split(const struct tilewright_add_split_attributes *attributes,
                                  const struct tilewright_view *operands, uint32_t flags)
{
    (void)flags;
    add(attributes, operands, split_row);
}
