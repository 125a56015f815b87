/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/* Written by scripts/kernel_header.py from the declarations in python/tilewright/kernels: all kernels,
 * their attributes, what attributes may point to, and the numbers that C and Python share. */
#ifndef TILEWRIGHT_KERNELS_DECLARATIONS_H
#define TILEWRIGHT_KERNELS_DECLARATIONS_H

#include "tilewright/kernels/functions.h"
#include "tilewright/runtime.h"

#ifdef __cplusplus
extern "C" {
#define TILEWRIGHT_SIZE_ASSERT static_assert
#else
#define TILEWRIGHT_SIZE_ASSERT _Static_assert
#endif

TILEWRIGHT_SIZE_ASSERT(TILEWRIGHT_MAX_RANK == 6, "axes of a view");
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_shape) == 80, "a shape");
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_view) == 2 * sizeof(void *), "a view");

#define TILEWRIGHT_INT8 0
#define TILEWRIGHT_UINT8 1
#define TILEWRIGHT_INT16 2
#define TILEWRIGHT_UINT16 3
#define TILEWRIGHT_INT32 4
#define TILEWRIGHT_FLOAT32 5

/* y = limit(((a ^ flip) * ma + (b ^ flip) * mb + addend) >> shift) for 8-bit operands, modulo 2^32;
 * an operand's flip is 128 for int8, 0 for uint8. Operands: a, b, y. */
struct tilewright_add_products_attributes {
    int32_t a_flip;
    int32_t b_flip;
    int32_t a_multiplier;
    int32_t b_multiplier;
    int32_t addend;
    int32_t shift;
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_add_products_attributes) == 32,
                       "tilewright_add_products_attributes");

void tilewright_add_products(const struct tilewright_add_products_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Bounds of the results. */
struct tilewright_clamp_f32_attributes {
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_clamp_f32_attributes) == 8,
                       "tilewright_clamp_f32_attributes");

void tilewright_add_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_sub_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_mul_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_div_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_row_body tilewright_integer_row, tilewright_integer_short_row;

tilewright_combine tilewright_combine_add, tilewright_combine_sub, tilewright_combine_mul;

/* y = limit((((a ^ flip) + (b ^ flip)) * multiplier + addend) >> shift) for 8-bit operands, modulo
 * 2^32; an operand's flip is 128 for int8, 0 for uint8. Operands: a, b, y. */
struct tilewright_add_shifted_attributes {
    int32_t a_flip;
    int32_t b_flip;
    int32_t multiplier;
    int32_t addend;
    int32_t shift;
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_add_shifted_attributes) == 28,
                       "tilewright_add_shifted_attributes");

void tilewright_add_shifted(const struct tilewright_add_shifted_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = limit(round half even of (((a - za) << left) * ma + ((b - zb) << left) * mb) / 2^(32 + shift)
 * + zero point), for 8-bit operands; multipliers may be negative. Operands: a, b, y. */
struct tilewright_add_rescaled_attributes {
    int32_t a_type; /* TILEWRIGHT_INT8 ... */
    int32_t b_type; /* TILEWRIGHT_INT8 ... */
    int32_t a_zero_point;
    int32_t b_zero_point;
    int32_t a_multiplier;
    int32_t b_multiplier;
    int32_t left;
    int32_t shift; /* from 1 to 30 */
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_add_rescaled_attributes) == 44,
                       "tilewright_add_rescaled_attributes");

void tilewright_add_rescaled(const struct tilewright_add_rescaled_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Add, Sub and Mul of 8-, 16- and 32-bit integers with broadcasting. Operands: a, b, constants
 * [1][4], y; all tensors have TILEWRIGHT_MAX_RANK axes, leading ones of extent 1. */
struct tilewright_binary_integer_attributes {
    tilewright_row_function row; /* how long the pieces of a row are that lie on the stack */
    tilewright_combine *combine;
    tilewright_line_finish *finish;
    int32_t a_type; /* TILEWRIGHT_INT8 ... */
    int32_t b_type; /* TILEWRIGHT_INT8 ... */
    int32_t a_zero_point;
    int32_t b_zero_point;
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_binary_integer_attributes) == (sizeof(void *) == 4 ? 36 : 48),
                       "tilewright_binary_integer_attributes");

void tilewright_binary_integer(const struct tilewright_binary_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x [n, c, h, w]; weights [group][block][kh * kw][c][4]; bias [group][block][4]; y [n, c,
 * h, w]; scratch of 4 bytes for each tap and lane where taps are gathered; where rows of the kernel
 * are read in place, of 20 bytes for each of its taps and 4 for each input channel. A block is four
 * output channels. Some taps at a time have an operand behind the bias: for rows and columns of the
 * kernel the first (bits 0 to 15) and the number. */
struct tilewright_conv_f32_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t group_inputs; /* channels of x in one group */
    int32_t group_outputs; /* channels of y in one group */
    int32_t gather; /* output positions gathered side by side, 4 or 1; 0: taps are read in place, of which those of a 1x1 kernel without padding need no scratch */
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_f32_attributes) == 52,
                       "tilewright_conv_f32_attributes");

void tilewright_conv_f32(const struct tilewright_conv_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_conv_rows_f32(const struct tilewright_conv_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_conv_f32_taps(const struct tilewright_conv_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_HALVES_ONCE 0
#define TILEWRIGHT_HALVES_TWICE 1
#define TILEWRIGHT_HALVES_REAL 2
#define TILEWRIGHT_HALVES_HIGH 3

/* Operands: x [n, c, h, w] of int16; weights int8 [c of y][h * w][c of x in a group]; for each
 * channel four words: bias (low, high), multiplier, shift; y [n, c, h, w] of int16, or float32
 * where `finish` says so. */
struct tilewright_conv_halves_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t spread[2]; /* steps of a window from one element of x to the next, zeros between them */
    int32_t group_inputs;
    int32_t group_outputs;
    int32_t finish; /* TILEWRIGHT_HALVES_ONCE, one rounding half up, TWICE, as rule twice, or REAL */
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_halves_attributes) == 60,
                       "tilewright_conv_halves_attributes");

void tilewright_conv_halves(const struct tilewright_conv_halves_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_HALVES_BLOCK 4
#define TILEWRIGHT_HALVES_WORDS 3
#define TILEWRIGHT_HALVES_RUN_BYTES 12

/* Convolution of one group whose sums fit 32 bits. Operands: x [n, c, h, w] of int16, whose
 * channels lie side by side; weights int8 [c of y / 4][h][w][c of x][4], and those of the last
 * channels, fewer than four, one channel behind the other; for each channel three words: bias,
 * multiplier, shift; y [n, c, h, w] of int16, or float32 where `finish` says so; scratch: three
 * words for each tap of a window. */
struct tilewright_conv_halves_block_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t spread[2]; /* steps of a window from one element of x to the next, zeros between them */
    int32_t inputs; /* channels of x */
    int32_t finish; /* TILEWRIGHT_HALVES_HIGH, TWICE or REAL */
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_halves_block_attributes) == 56,
                       "tilewright_conv_halves_block_attributes");

void tilewright_conv_halves_block(const struct tilewright_conv_halves_block_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_BLOCK 4
#define TILEWRIGHT_ROW_WORDS 4
#define TILEWRIGHT_ROUNDS_EVEN 32768
#define TILEWRIGHT_WORDS_NONE 1
#define TILEWRIGHT_WORDS_FOLDED 2
#define TILEWRIGHT_WORDS_HIGH 4
#define TILEWRIGHT_WORDS_LAYER 2
#define TILEWRIGHT_WORDS_LONG 4
#define TILEWRIGHT_WORDS_EVEN 4
#define TILEWRIGHT_WORDS_LAYER_EVEN 2
#define TILEWRIGHT_WORDS_EXACT 4
#define TILEWRIGHT_WORDS_RESCALE 2
#define TILEWRIGHT_WORDS_AWAY 4
#define TILEWRIGHT_WORDS_TWICE 4
#define TILEWRIGHT_WORDS_TWICE_ANY 4
#define TILEWRIGHT_WORDS_TWICE_HALF 4
#define TILEWRIGHT_WORDS_TWICE_WORD 4

extern const struct tilewright_core tilewright_core_few, tilewright_core_narrow,
    tilewright_core_wide;

extern const struct tilewright_rule tilewright_rule_none, tilewright_rule_folded,
    tilewright_rule_high, tilewright_rule_layer, tilewright_rule_long, tilewright_rule_even,
    tilewright_rule_layer_even, tilewright_rule_exact, tilewright_rule_rescale,
    tilewright_rule_away, tilewright_rule_twice, tilewright_rule_twice_any;

extern const struct tilewright_line_rule tilewright_line_rule_none, tilewright_line_rule_folded,
    tilewright_line_rule_high, tilewright_line_rule_layer, tilewright_line_rule_long,
    tilewright_line_rule_even, tilewright_line_rule_layer_even, tilewright_line_rule_exact,
    tilewright_line_rule_rescale, tilewright_line_rule_away, tilewright_line_rule_twice,
    tilewright_line_rule_twice_any;

tilewright_block_finish tilewright_block_none, tilewright_block_shift, tilewright_block_folded,
    tilewright_block_high, tilewright_block_layer, tilewright_block_long, tilewright_block_even,
    tilewright_block_layer_even, tilewright_block_exact, tilewright_block_rescale,
    tilewright_block_away, tilewright_block_twice, tilewright_block_twice_any,
    tilewright_block_twice_half, tilewright_block_twice_word;

tilewright_line_finish tilewright_line_none, tilewright_line_shift, tilewright_line_folded,
    tilewright_line_high, tilewright_line_layer, tilewright_line_long, tilewright_line_even,
    tilewright_line_layer_even, tilewright_line_exact, tilewright_line_rescale,
    tilewright_line_away, tilewright_line_twice, tilewright_line_twice_any,
    tilewright_line_twice_half, tilewright_line_twice_word;

tilewright_block_products tilewright_products_wide;

/* Convolution of 8-bit tensors, any strides, dilations, pads and groups. Operands: x [n, c, h, w];
 * weights [group][block][kh][kw][c][4]; constants [group][channel][words of the rule]; y [n, c, h,
 * w]; scratch: 4 bytes for each tap, then a row of kernel[1] * c bytes of padding. Partial results,
 * where channels of the only group are cut: 64 bytes for 4 pixels of 4 channels. */
struct tilewright_conv_integer_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t group_inputs; /* channels of x in one group */
    int32_t group_outputs; /* channels of y in one group */
    int32_t padding; /* the stored byte that stands for zero */
    int32_t is_unsigned; /* 1: x is uint8 */
    const struct tilewright_core *core;
    const struct tilewright_rule *rule;
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
    int32_t padding_row_at; /* bytes, in scratch */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_integer_attributes) == (sizeof(void *) == 4 ? 76 : 88),
                       "tilewright_conv_integer_attributes");

void tilewright_conv_integer(const struct tilewright_conv_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_packed_products tilewright_packed_folded_2_to4, tilewright_packed_folded_2_to8,
    tilewright_packed_folded_2_to16, tilewright_packed_folded_4_to4, tilewright_packed_folded_4_to8,
    tilewright_packed_folded_4_to16, tilewright_packed_folded_4_wide,
    tilewright_packed_folded_6_to4, tilewright_packed_folded_6_to8, tilewright_packed_folded_6_to16,
    tilewright_packed_layer_2_to4, tilewright_packed_layer_2_to8, tilewright_packed_layer_2_to16,
    tilewright_packed_layer_4_to4, tilewright_packed_layer_4_to8, tilewright_packed_layer_4_to16,
    tilewright_packed_layer_4_wide, tilewright_packed_layer_6_to4, tilewright_packed_layer_6_to8,
    tilewright_packed_layer_6_to16, tilewright_packed_high_2_to4, tilewright_packed_high_2_to8,
    tilewright_packed_high_2_to16, tilewright_packed_high_4_to4, tilewright_packed_high_4_to8,
    tilewright_packed_high_4_to16, tilewright_packed_high_4_wide, tilewright_packed_high_6_to4,
    tilewright_packed_high_6_to8, tilewright_packed_high_6_to16, tilewright_packed_away_2_to4,
    tilewright_packed_away_2_to8, tilewright_packed_away_2_to16, tilewright_packed_away_4_to4,
    tilewright_packed_away_4_to8, tilewright_packed_away_4_to16, tilewright_packed_away_4_wide,
    tilewright_packed_away_6_to4, tilewright_packed_away_6_to8, tilewright_packed_away_6_to16,
    tilewright_packed_twice_2_to4, tilewright_packed_twice_2_to8, tilewright_packed_twice_2_to16,
    tilewright_packed_twice_4_to4, tilewright_packed_twice_4_to8, tilewright_packed_twice_4_to16,
    tilewright_packed_twice_4_wide, tilewright_packed_twice_6_to4, tilewright_packed_twice_6_to8,
    tilewright_packed_twice_6_to16, tilewright_packed_any_4_to4, tilewright_packed_any_4_to8,
    tilewright_packed_any_4_to16, tilewright_packed_any_4_wide;

tilewright_pack tilewright_pack_signed_2, tilewright_pack_signed_4, tilewright_pack_signed_6,
    tilewright_pack_unsigned_2, tilewright_pack_unsigned_4, tilewright_pack_unsigned_6;

/* Convolution of 8-bit tensors, two pixels with a multiplication, any strides, dilations, pads and
 * groups. Operands: x [n, c, h, w]; weights [group][block of two channels][5 bytes, then int8 kh,
 * kw, c, 2], or, where they are wide, [6 bytes, then int16 kh, kw, c, 2]; constants
 * [group][block][2][words of the rule]; y [n, c, h, w]; scratch: 2 bytes for each tap and pixel,
 * then c bytes of padding where there is any. */
struct tilewright_conv_packed_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t group_inputs; /* channels of x in one group */
    int32_t group_outputs; /* channels of y in one group */
    int32_t taps; /* of a channel of y */
    int32_t pixels; /* that are computed together: 2, 4 or 6 */
    int32_t padding; /* the stored byte that stands for zero */
    int32_t is_padded; /* 1: taps may lie beside x */
    int32_t is_unsigned; /* 1: x is uint8 */
    tilewright_pack *pack;
    tilewright_packed_products *products;
    tilewright_pack *few_pack;
    tilewright_packed_products *few_products; /* of the last pixels, where these are 4 or fewer */
    tilewright_block_finish *finish; /* NULL: inside products */
    int32_t unit; /* rounds of the core's loops that a byte of a block counts as one */
    int32_t block_bytes; /* of two channels' weights, with what stands in front of them */
    int32_t group_words; /* of a group's constants */
    int32_t row_words; /* words of a row of the rule */
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
    int32_t padding_at; /* bytes, in scratch */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_packed_attributes) == (sizeof(void *) == 4 ? 116 : 144),
                       "tilewright_conv_packed_attributes");

void tilewright_conv_packed(const struct tilewright_conv_packed_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x [n, c, h, w]; weights [block][kh * kw][c][4]; bias [block][4]; y [n, c, h, w];
 * scratch of 24 bytes for each tap of the kernel and 4 for each channel of x. A block is four
 * output channels. */
struct tilewright_conv_transpose_rows_f32_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_transpose_rows_f32_attributes) == 40,
                       "tilewright_conv_transpose_rows_f32_attributes");

void tilewright_conv_transpose_rows_f32(const struct tilewright_conv_transpose_rows_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Transposed convolution of 8-bit tensors. Operands: x [n, c, -, d, h, w]; weights [c][tap][input],
 * int8 or, if wide, int16; constants [c][words of the rule]; y [n, c, -, d, h, w]; scratch: 4 bytes
 * for each channel of y. */
struct tilewright_conv_transpose_integer_attributes {
    const struct tilewright_line_rule *rule;
    int32_t kernel[3];
    int32_t strides[3];
    int32_t dilations[3];
    int32_t pads[3]; /* in front, above and to the left */
    int32_t group_inputs;
    int32_t group_outputs;
    int32_t zero_point; /* of x */
    int32_t is_unsigned; /* 1: x is uint8 */
    int32_t wide;
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_transpose_integer_attributes) == (sizeof(void *) == 4 ? 88 : 96),
                       "tilewright_conv_transpose_integer_attributes");

void tilewright_conv_transpose_integer(const struct tilewright_conv_transpose_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_depthwise_rows_along tilewright_along_1_folded, tilewright_along_2_folded,
    tilewright_along_1_layer, tilewright_along_2_layer, tilewright_along_1_high,
    tilewright_along_2_high;

/* Depthwise convolution of int8 images by windows of 3x3 taps side by side, with at most a row and
 * a column of padding on each side. The channels lie side by side in x and in y, and rows of y have
 * 4 pixels or more. A channel is computed along the rows, sums in registers; nothing is copied, so
 * that a row is nearly as fast as an image. Operands: x [n, c, h, w]; weights int8 [c][kernel];
 * constants [c][words of the rule]; y [n, c, h, w]. Where calls follow each other from the first
 * row to the last, x may have new rows alone: the last two rows are kept as partial results are.
 * Pixels of x then lie side by side. */
struct tilewright_depthwise_along_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t padding; /* the stored byte that stands for zero */
    int32_t is_unsigned; /* 1: x is uint8 */
    tilewright_depthwise_rows_along *along;
    int32_t kept_bytes; /* of a row that is kept; 0: x has all rows of the windows */
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_depthwise_along_attributes) == (sizeof(void *) == 4 ? 64 : 72),
                       "tilewright_depthwise_along_attributes");

void tilewright_depthwise_along(const struct tilewright_depthwise_along_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Depthwise convolution of int8 images without padding, four channels at a time: one input and one
 * output channel in each group. The channels lie side by side in x, which is read in place. Made
 * for few output positions with long windows, as networks have that hear one frame at a time.
 * Operands: x [n, c, h, w]; weights int8 [block][kernel][4], channels behind the last whole block
 * [c][kernel]; constants [c][words of the rule]; y [n, c, h, w]. No scratch. */
struct tilewright_depthwise_beside_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    const struct tilewright_rule *rule;
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_depthwise_beside_attributes) == (sizeof(void *) == 4 ? 52 : 56),
                       "tilewright_depthwise_beside_attributes");

void tilewright_depthwise_beside(const struct tilewright_depthwise_beside_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x [n, c, h, w]; weights [block][1 + kh * kw][4], the biases first; y [n, c, h, w]. */
struct tilewright_depthwise_f32_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_depthwise_f32_attributes) == 40,
                       "tilewright_depthwise_f32_attributes");

void tilewright_depthwise_f32(const struct tilewright_depthwise_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_HALVES_LINE_BYTES 8

/* Depthwise convolution whose sums fit 32 bits. Operands: x [n, c, h, w] of int16, whose channels
 * lie side by side; weights int8 [c / 4][h][w][4], and those of the last channels, fewer than four,
 * one channel behind the other; for each channel three words: bias, multiplier, shift; y [n, c, h,
 * w] of int16, or float32 where `finish` says so; scratch: two words for each row of a window. */
struct tilewright_depthwise_halves_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t finish; /* TILEWRIGHT_HALVES_HIGH, TWICE or REAL */
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_depthwise_halves_attributes) == 44,
                       "tilewright_depthwise_halves_attributes");

void tilewright_depthwise_halves(const struct tilewright_depthwise_halves_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_DEPTHWISE_PLANE 128

tilewright_depthwise_sums tilewright_depthwise_slide, tilewright_depthwise_stride,
    tilewright_depthwise_any, tilewright_depthwise_five, tilewright_depthwise_seven,
    tilewright_depthwise_wide_stride, tilewright_depthwise_wide_any,
    tilewright_depthwise_slide_folded, tilewright_depthwise_slide_layer,
    tilewright_depthwise_slide_high, tilewright_depthwise_wide_slide_folded,
    tilewright_depthwise_wide_slide_layer, tilewright_depthwise_wide_slide_high;

/* Depthwise convolution of 8-bit tensors: one input and one output channel in each group. `slide`:
 * 3x3 taps, rows not strided; `stride`: 3x3 taps; `five` and `seven`: so many rows of taps, not
 * dilated; `any`: every kernel; `wide`: weights of int16. Operands: x [n, c, h, w]; weights int8 or
 * int16 [c][kernel]; constants [c][words of the rule]; y [n, c, h, w]; scratch: the padded window
 * of one channel, rounded up to words, then, unless elements are stored at once, 4 bytes for each
 * output of a channel if a channel has at most TILEWRIGHT_DEPTHWISE_PLANE outputs, else for each
 * row of y, at least for TILEWRIGHT_DEPTHWISE_PLANE rows. */
struct tilewright_depthwise_integer_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t padding; /* the stored byte that stands for zero */
    int32_t is_unsigned; /* 1: x is uint8 */
    tilewright_depthwise_sums *sums;
    int32_t stores; /* 1: sums become elements at once */
    int32_t weight_bytes; /* of a weight: 1, or 2 where it is wide */
    const struct tilewright_line_rule *rule;
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
    int32_t sums_at; /* bytes, in scratch */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_depthwise_integer_attributes) == (sizeof(void *) == 4 ? 76 : 88),
                       "tilewright_depthwise_integer_attributes");

void tilewright_depthwise_integer(const struct tilewright_depthwise_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Depthwise convolution of int8 images by windows of 3x3 taps side by side. The channels, a
 * multiple of 4, lie side by side in x, and rows of y have 4 pixels or more. Nothing is set up for
 * each channel, so that a row is as fast as an image. `strided`: windows are two columns apart,
 * else one. Operands: x [n, c, h, w]; weights int8 [c][kernel]; constants [c][words of the rule]; y
 * [n, c, h, w]; scratch: a pixel of padding. */
struct tilewright_depthwise_rows_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t padding; /* the stored byte that stands for zero */
    int32_t is_unsigned; /* 1: x is uint8 */
    const struct tilewright_rule *rule;
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_depthwise_rows_attributes) == (sizeof(void *) == 4 ? 60 : 64),
                       "tilewright_depthwise_rows_attributes");

void tilewright_depthwise_rows(const struct tilewright_depthwise_rows_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_depthwise_rows_strided(const struct tilewright_depthwise_rows_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = limit(((a - za) * 2^left * fa + sign * (b - zb) * 2^left * fb) * f + zero point), each
 * product rounded as rule twice does. f is doubled / 2^32 / 2^shift, where doubled is unsigned; fa
 * and fb likewise. Operands: a, b, y of 8 bits; add_scaled_halves: of int16 without zero points. */
struct tilewright_add_scaled_attributes {
    int32_t a_type; /* TILEWRIGHT_INT8 ... */
    int32_t b_type; /* TILEWRIGHT_INT8 ... */
    int32_t a_zero_point;
    int32_t b_zero_point;
    int32_t left;
    int32_t sign; /* 1 or -1 */
    int32_t a_doubled;
    int32_t a_shift; /* from 0 to 31 */
    int32_t b_doubled;
    int32_t b_shift;
    int32_t doubled;
    int32_t shift;
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_add_scaled_attributes) == 60,
                       "tilewright_add_scaled_attributes");

void tilewright_add_scaled(const struct tilewright_add_scaled_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_add_scaled_halves(const struct tilewright_add_scaled_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Softmax of 8-bit tensors over the last axis of the view. Operands: x; exp(-d) for differences d =
 * 0 ... 255, Q0.31 int32; y of 8 bits, or, if offset is 32768, int16. */
struct tilewright_softmax_fixed_attributes {
    int32_t flip; /* 128: x is int8; 0: uint8 */
    int32_t offset; /* y is the probability, from 0 to 255 or 65535, less this */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_softmax_fixed_attributes) == 8,
                       "tilewright_softmax_fixed_attributes");

void tilewright_softmax_fixed(const struct tilewright_softmax_fixed_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* LogSoftmax of 8-bit tensors over the last axis of the view, in 1/16 below the largest y.
 * Operands: x; exp(-d) for differences d = 0 ... 255, Q12.19 int32, then -d as Q5.26; y of x's
 * type. */
struct tilewright_log_softmax_fixed_attributes {
    int32_t flip; /* 128: x is int8; 0: uint8 */
    int32_t lowest; /* the lowest -d that counts */
    int32_t divisor; /* a Q5.26 number * divisor / 2^31 / 2^right is a difference */
    int32_t right;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_log_softmax_fixed_attributes) == 16,
                       "tilewright_log_softmax_fixed_attributes");

void tilewright_log_softmax_fixed(const struct tilewright_log_softmax_fixed_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_FOUND_SIGNED 0
#define TILEWRIGHT_FOUND_UNSIGNED 1
#define TILEWRIGHT_FOUND_REAL 2

/* Operands: x of bool with six axes, positions int64 [rank, bound], count int32 [1]. */
struct tilewright_found_non_zero_attributes {
    int32_t rank;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_found_non_zero_attributes) == 4,
                       "tilewright_found_non_zero_attributes");

void tilewright_found_non_zero(const struct tilewright_found_non_zero_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x [row, width], different rows [bound, width], their first rows int64 [bound], numbers
 * int64 [row], counts int64 [bound], count int32 [1]; scratch: int32 for each row. */
struct tilewright_found_unique_attributes {
    int32_t element_bytes;
    int32_t kind; /* 0: signed, 1: unsigned integers, 2: float */
    int32_t is_sorted;
    int32_t order_at; /* bytes, in scratch */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_found_unique_attributes) == 16,
                       "tilewright_found_unique_attributes");

void tilewright_found_unique(const struct tilewright_found_unique_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: boxes [batch, box, 4], scores [batch, class, box], most int64 [1], overlap [1],
 * threshold [1], found int64 [bound, 3], count int32 [1]; scratch: a byte for each box. */
struct tilewright_found_boxes_attributes {
    int32_t by_center;
    int32_t has_threshold;
    int32_t closed_at; /* bytes, in scratch */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_found_boxes_attributes) == 12,
                       "tilewright_found_boxes_attributes");

void tilewright_found_boxes(const struct tilewright_found_boxes_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_vector_products tilewright_vector_signed, tilewright_vector_unsigned,
    tilewright_vector_wide_signed, tilewright_vector_wide_unsigned;

/* Products of 8-bit vectors with a constant matrix: y[row, n] = bias[n] + sum x[row, k] * w[n, k].
 * Operands: x [row, k]; weights int8, or int16 of `wide` products, [block][k][4]; constants
 * [n][words of the rule]; y [row, n]. No scratch. Partial results, where k is cut: 16 bytes for 4
 * channels of a row. */
struct tilewright_fully_connected_integer_attributes {
    tilewright_vector_products *products;
    const struct tilewright_rule *rule;
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_fully_connected_integer_attributes) == (sizeof(void *) == 4 ? 24 : 32),
                       "tilewright_fully_connected_integer_attributes");

void tilewright_fully_connected_integer(const struct tilewright_fully_connected_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_packed_block tilewright_packed_block_signed_folded, tilewright_packed_block_signed_layer,
    tilewright_packed_block_signed_high, tilewright_packed_block_signed_away,
    tilewright_packed_block_signed_twice, tilewright_packed_block_signed_any,
    tilewright_packed_block_unsigned_folded, tilewright_packed_block_unsigned_layer,
    tilewright_packed_block_unsigned_high, tilewright_packed_block_unsigned_away,
    tilewright_packed_block_unsigned_twice, tilewright_packed_block_unsigned_any;

/* Products of 8-bit vectors with a constant matrix: y[row, n] = bias[n] + sum x[row, k] * w[n, k].
 * Operands: x [row, k]; weights uint8 [block][k][8], each with 128 added; constants [n][words of
 * the rule]; lengths of runs of k, uint8 [block][run_bytes]; y [row, n]. No scratch. */
struct tilewright_fully_connected_packed_attributes {
    int32_t run_bytes; /* lengths of runs of a block, with a zero behind them */
    tilewright_packed_block *products;
    tilewright_block_finish *finish; /* NULL: inside products */
    int32_t row_words; /* words of a row of the rule */
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_fully_connected_packed_attributes) == (sizeof(void *) == 4 ? 32 : 48),
                       "tilewright_fully_connected_packed_attributes");

void tilewright_fully_connected_packed(const struct tilewright_fully_connected_packed_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

void tilewright_gelu_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_gelu_tanh_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y between the entry of the high bits of x and its successor, by the low bits of x; the difference
 * of both entries is cut to 16 bits. Operands: x of int16, int16[2^(16 - bits) + 1], y of int16. */
struct tilewright_interpolated_halves_attributes {
    int32_t bits; /* how many of x are low; 7 in LiteRT */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_interpolated_halves_attributes) == 4,
                       "tilewright_interpolated_halves_attributes");

void tilewright_interpolated_halves(const struct tilewright_interpolated_halves_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = function(x * multiplier / 2^shift / 3 / 2^12) as Q0.15. Operands: x of int16, the logistic
 * function at multiples of 1/24 as uint16[256], y of int16. */
struct tilewright_sigmoid_halves_attributes {
    int32_t multiplier;
    int32_t shift;
    int32_t is_tanh; /* 1: tanh; 0: logistic */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_sigmoid_halves_attributes) == 12,
                       "tilewright_sigmoid_halves_attributes");

void tilewright_sigmoid_halves(const struct tilewright_sigmoid_halves_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Softmax of int16 over the last axis of the view. Operands: x; exp on [-10, 0], then 1 / (1 + x)
 * on [0, 1], as int16[513] each; y. A difference is one of 10/65535 after the factor doubled / 2^32
 * * 2^left / 2^right. */
struct tilewright_softmax_halves_attributes {
    int32_t doubled;
    int32_t left;
    int32_t right;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_softmax_halves_attributes) == 12,
                       "tilewright_softmax_halves_attributes");

void tilewright_softmax_halves(const struct tilewright_softmax_halves_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Largest tap, or the sum of the taps in x / their number, rounded half away from zero. Operands: x
 * and y [n, c, h, w] of int16. */
struct tilewright_pool_halves_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t is_average; /* 1: average; 0: maximum */
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_pool_halves_attributes) == 44,
                       "tilewright_pool_halves_attributes");

void tilewright_pool_halves(const struct tilewright_pool_halves_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y at a position is x at that position, but at indices[position] along `axis`. Operands: x,
 * indices, y. */
struct tilewright_gather_attributes {
    int32_t element_bytes;
    int32_t index_bytes; /* 4 or 8; indices are signed */
    int32_t axis;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_gather_attributes) == 12,
                       "tilewright_gather_attributes");

void tilewright_gather(const struct tilewright_gather_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Gather of which a call has a part of x on `axis`. Operands: x, indices, y. Partial results: the
 * elements of y that were found before. */
struct tilewright_gather_parts_attributes {
    int32_t element_bytes;
    int32_t index_bytes; /* 4 or 8; indices are signed */
    int32_t axis;
    int32_t extent; /* of x on the axis */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_gather_parts_attributes) == 16,
                       "tilewright_gather_parts_attributes");

void tilewright_gather_parts(const struct tilewright_gather_parts_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = x with the updates applied one by one. Operands: x, indices, updates, y. */
struct tilewright_scatter_attributes {
    int32_t element_bytes;
    int32_t index_bytes; /* 4 or 8; indices are signed */
    int32_t axis;
    tilewright_row_function combine; /* y = combine(y, update) of one element; NULL replaces it */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_scatter_attributes) == (sizeof(void *) == 4 ? 16 : 24),
                       "tilewright_scatter_attributes");

void tilewright_scatter(const struct tilewright_scatter_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Planes of rows become pixels: elements that are a plane apart in x lie side by side in y. y has
 * the bytes of x, or shares none with x. Operands: x [1, planes, ...]; y, of the same extents;
 * scratch: a row of all planes, then a bit for each row of each plane. */
struct tilewright_interleave_planes_attributes {
    int32_t element_bytes; /* 1, 2, 4 or 8 */
    int32_t planes;
    int32_t rows; /* of a plane */
    int32_t row_length; /* elements */
    int32_t moved_at; /* bytes, in scratch */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_interleave_planes_attributes) == 20,
                       "tilewright_interleave_planes_attributes");

void tilewright_interleave_planes(const struct tilewright_interleave_planes_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_line_finish tilewright_line_cut;

/* Each element of y is the mean of four of x. Operands: x [n, c, h, w] of 8 bits; a word for each
 * row of y, and one for each column: the first of two neighbours in x, << 12, + the share of the
 * second; constants [1][4], whose bias takes the zero point and the flip off; y of 8 bits. */
struct tilewright_interpolate_integer_attributes {
    tilewright_line_finish *finish;
    int32_t row_unit; /* stands for a share of 1; at most 2^11 */
    int32_t column_unit;
    int32_t flip; /* 128: x is int8; 0: uint8 */
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_interpolate_integer_attributes) == (sizeof(void *) == 4 ? 24 : 32),
                       "tilewright_interpolate_integer_attributes");

void tilewright_interpolate_integer(const struct tilewright_interpolate_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_line_body tilewright_line_log_softmax_f32, tilewright_line_hardmax_f32,
    tilewright_line_lp_normalization_f32, tilewright_line_cum_sum_f32, tilewright_line_cum_sum_i32,
    tilewright_line_cum_sum_i64, tilewright_line_cum_prod_f32, tilewright_line_cum_prod_i32,
    tilewright_line_cum_prod_i64, tilewright_line_top_k_f32, tilewright_line_top_k_i8,
    tilewright_line_top_k_u8, tilewright_line_top_k_i16, tilewright_line_top_k_u16,
    tilewright_line_top_k_i32, tilewright_line_top_k_u32, tilewright_line_top_k_i64,
    tilewright_line_pairwise_coupling_f32, tilewright_line_quantize_line_i8,
    tilewright_line_quantize_line_i16;

/* Operands: reads, then writes, all with six axes that differ only along `axis`. */
struct tilewright_line_attributes {
    tilewright_line_function line;
    int32_t operands;
    int32_t axis;
    int32_t parameters[2]; /* p, or exclusive and reverse, or largest */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_line_attributes) == (sizeof(void *) == 4 ? 20 : 24),
                       "tilewright_line_attributes");

void tilewright_line(const struct tilewright_line_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands with trailing axes: x [entry, step, input], h [entry, unit], c [entry, unit]; constants:
 * weights of x and of h [unit][input or unit][gate] int8, for each unit and gate the bias of both
 * sums, multiplier and shift of each factor, the table of the logistic function; y [entry, step,
 * unit], h, c; scratch: gates of int16, then h. Of int16, the two words of a bias are one of 64
 * bits, and the first eight multipliers have 15 bits. */
struct tilewright_lstm_integer_attributes {
    int32_t h_zero_point;
    int32_t cell_multiplier;
    int32_t cell_shift;
    int32_t clip; /* 0: none */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_lstm_integer_attributes) == 16,
                       "tilewright_lstm_integer_attributes");

void tilewright_lstm_integer(const struct tilewright_lstm_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_lstm_halves(const struct tilewright_lstm_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_row_body tilewright_map_add_f32, tilewright_map_mul_f32, tilewright_map_abs_f32,
    tilewright_map_abs_i8, tilewright_map_abs_u8, tilewright_map_abs_i16, tilewright_map_abs_u16,
    tilewright_map_abs_i32, tilewright_map_abs_u32, tilewright_map_abs_i64, tilewright_map_neg_f32,
    tilewright_map_neg_i8, tilewright_map_neg_u8, tilewright_map_neg_i16, tilewright_map_neg_u16,
    tilewright_map_neg_i32, tilewright_map_neg_u32, tilewright_map_neg_i64, tilewright_map_sign_f32,
    tilewright_map_sign_i8, tilewright_map_sign_u8, tilewright_map_sign_i16,
    tilewright_map_sign_u16, tilewright_map_sign_i32, tilewright_map_sign_u32,
    tilewright_map_sign_i64, tilewright_map_exp_f32, tilewright_map_log_f32,
    tilewright_map_sqrt_f32, tilewright_map_reciprocal_f32, tilewright_map_floor_f32,
    tilewright_map_ceil_f32, tilewright_map_round_f32, tilewright_map_erf_f32,
    tilewright_map_sin_f32, tilewright_map_cos_f32, tilewright_map_tan_f32, tilewright_map_asin_f32,
    tilewright_map_acos_f32, tilewright_map_atan_f32, tilewright_map_sinh_f32,
    tilewright_map_cosh_f32, tilewright_map_asinh_f32, tilewright_map_acosh_f32,
    tilewright_map_atanh_f32, tilewright_map_softplus_f32, tilewright_map_softsign_f32,
    tilewright_map_elu_f32, tilewright_map_selu_f32, tilewright_map_celu_f32,
    tilewright_map_thresholded_relu_f32, tilewright_map_shrink_f32, tilewright_map_mish_f32,
    tilewright_map_not_b8, tilewright_map_is_nan_f32, tilewright_map_is_inf_f32,
    tilewright_map_bitwise_not_i8, tilewright_map_bitwise_not_u8, tilewright_map_bitwise_not_i16,
    tilewright_map_bitwise_not_u16, tilewright_map_bitwise_not_i32, tilewright_map_bitwise_not_u32,
    tilewright_map_bitwise_not_i64, tilewright_map_add_i8, tilewright_map_add_u8,
    tilewright_map_add_i16, tilewright_map_add_u16, tilewright_map_add_i32, tilewright_map_add_u32,
    tilewright_map_add_i64, tilewright_map_sub_i8, tilewright_map_sub_u8, tilewright_map_sub_i16,
    tilewright_map_sub_u16, tilewright_map_sub_i32, tilewright_map_sub_u32, tilewright_map_sub_i64,
    tilewright_map_mul_i8, tilewright_map_mul_u8, tilewright_map_mul_i16, tilewright_map_mul_u16,
    tilewright_map_mul_i32, tilewright_map_mul_u32, tilewright_map_mul_i64, tilewright_map_div_i8,
    tilewright_map_div_u8, tilewright_map_div_i16, tilewright_map_div_u16, tilewright_map_div_i32,
    tilewright_map_div_u32, tilewright_map_div_i64, tilewright_map_min_f32, tilewright_map_min_i8,
    tilewright_map_min_u8, tilewright_map_min_i16, tilewright_map_min_u16, tilewright_map_min_i32,
    tilewright_map_min_u32, tilewright_map_min_i64, tilewright_map_max_f32, tilewright_map_max_i8,
    tilewright_map_max_u8, tilewright_map_max_i16, tilewright_map_max_u16, tilewright_map_max_i32,
    tilewright_map_max_u32, tilewright_map_max_i64, tilewright_map_mod_f32, tilewright_map_mod_i8,
    tilewright_map_mod_u8, tilewright_map_mod_i16, tilewright_map_mod_u16, tilewright_map_mod_i32,
    tilewright_map_mod_u32, tilewright_map_mod_i64, tilewright_map_fmod_f32, tilewright_map_fmod_i8,
    tilewright_map_fmod_u8, tilewright_map_fmod_i16, tilewright_map_fmod_u16,
    tilewright_map_fmod_i32, tilewright_map_fmod_u32, tilewright_map_fmod_i64,
    tilewright_map_pow_f32, tilewright_map_pow_i8, tilewright_map_pow_u8, tilewright_map_pow_i16,
    tilewright_map_pow_u16, tilewright_map_pow_i32, tilewright_map_pow_u32, tilewright_map_pow_i64,
    tilewright_map_pow_i32_f32, tilewright_map_pow_i64_f32, tilewright_map_prelu_f32,
    tilewright_map_prelu_i8, tilewright_map_prelu_u8, tilewright_map_prelu_i16,
    tilewright_map_prelu_u16, tilewright_map_prelu_i32, tilewright_map_prelu_u32,
    tilewright_map_prelu_i64, tilewright_map_bitwise_and_i8, tilewright_map_bitwise_and_u8,
    tilewright_map_bitwise_and_i16, tilewright_map_bitwise_and_u16, tilewright_map_bitwise_and_i32,
    tilewright_map_bitwise_and_u32, tilewright_map_bitwise_and_i64, tilewright_map_bitwise_or_i8,
    tilewright_map_bitwise_or_u8, tilewright_map_bitwise_or_i16, tilewright_map_bitwise_or_u16,
    tilewright_map_bitwise_or_i32, tilewright_map_bitwise_or_u32, tilewright_map_bitwise_or_i64,
    tilewright_map_bitwise_xor_i8, tilewright_map_bitwise_xor_u8, tilewright_map_bitwise_xor_i16,
    tilewright_map_bitwise_xor_u16, tilewright_map_bitwise_xor_i32, tilewright_map_bitwise_xor_u32,
    tilewright_map_bitwise_xor_i64, tilewright_map_shift_left_i8, tilewright_map_shift_left_u8,
    tilewright_map_shift_left_i16, tilewright_map_shift_left_u16, tilewright_map_shift_left_i32,
    tilewright_map_shift_left_u32, tilewright_map_shift_left_i64, tilewright_map_shift_right_i8,
    tilewright_map_shift_right_u8, tilewright_map_shift_right_i16, tilewright_map_shift_right_u16,
    tilewright_map_shift_right_i32, tilewright_map_shift_right_u32, tilewright_map_shift_right_i64,
    tilewright_map_equal_f32, tilewright_map_equal_i8, tilewright_map_equal_u8,
    tilewright_map_equal_i16, tilewright_map_equal_u16, tilewright_map_equal_i32,
    tilewright_map_equal_u32, tilewright_map_equal_i64, tilewright_map_equal_b8,
    tilewright_map_less_f32, tilewright_map_less_i8, tilewright_map_less_u8,
    tilewright_map_less_i16, tilewright_map_less_u16, tilewright_map_less_i32,
    tilewright_map_less_u32, tilewright_map_less_i64, tilewright_map_less_b8,
    tilewright_map_less_or_equal_f32, tilewright_map_less_or_equal_i8,
    tilewright_map_less_or_equal_u8, tilewright_map_less_or_equal_i16,
    tilewright_map_less_or_equal_u16, tilewright_map_less_or_equal_i32,
    tilewright_map_less_or_equal_u32, tilewright_map_less_or_equal_i64,
    tilewright_map_less_or_equal_b8, tilewright_map_and_b8, tilewright_map_or_b8,
    tilewright_map_xor_b8, tilewright_map_where_1, tilewright_map_where_2, tilewright_map_where_4,
    tilewright_map_where_8, tilewright_map_quantize_i8, tilewright_map_quantize_u8,
    tilewright_map_cast_f32_f32, tilewright_map_cast_f32_i8, tilewright_map_cast_f32_u8,
    tilewright_map_cast_f32_i16, tilewright_map_cast_f32_u16, tilewright_map_cast_f32_i32,
    tilewright_map_cast_f32_u32, tilewright_map_cast_f32_i64, tilewright_map_cast_f32_b8,
    tilewright_map_cast_i8_f32, tilewright_map_cast_i8_i8, tilewright_map_cast_i8_u8,
    tilewright_map_cast_i8_i16, tilewright_map_cast_i8_u16, tilewright_map_cast_i8_i32,
    tilewright_map_cast_i8_u32, tilewright_map_cast_i8_i64, tilewright_map_cast_i8_b8,
    tilewright_map_cast_u8_f32, tilewright_map_cast_u8_i8, tilewright_map_cast_u8_u8,
    tilewright_map_cast_u8_i16, tilewright_map_cast_u8_u16, tilewright_map_cast_u8_i32,
    tilewright_map_cast_u8_u32, tilewright_map_cast_u8_i64, tilewright_map_cast_u8_b8,
    tilewright_map_cast_i16_f32, tilewright_map_cast_i16_i8, tilewright_map_cast_i16_u8,
    tilewright_map_cast_i16_i16, tilewright_map_cast_i16_u16, tilewright_map_cast_i16_i32,
    tilewright_map_cast_i16_u32, tilewright_map_cast_i16_i64, tilewright_map_cast_i16_b8,
    tilewright_map_cast_u16_f32, tilewright_map_cast_u16_i8, tilewright_map_cast_u16_u8,
    tilewright_map_cast_u16_i16, tilewright_map_cast_u16_u16, tilewright_map_cast_u16_i32,
    tilewright_map_cast_u16_u32, tilewright_map_cast_u16_i64, tilewright_map_cast_u16_b8,
    tilewright_map_cast_i32_f32, tilewright_map_cast_i32_i8, tilewright_map_cast_i32_u8,
    tilewright_map_cast_i32_i16, tilewright_map_cast_i32_u16, tilewright_map_cast_i32_i32,
    tilewright_map_cast_i32_u32, tilewright_map_cast_i32_i64, tilewright_map_cast_i32_b8,
    tilewright_map_cast_u32_f32, tilewright_map_cast_u32_i8, tilewright_map_cast_u32_u8,
    tilewright_map_cast_u32_i16, tilewright_map_cast_u32_u16, tilewright_map_cast_u32_i32,
    tilewright_map_cast_u32_u32, tilewright_map_cast_u32_i64, tilewright_map_cast_u32_b8,
    tilewright_map_cast_i64_f32, tilewright_map_cast_i64_i8, tilewright_map_cast_i64_u8,
    tilewright_map_cast_i64_i16, tilewright_map_cast_i64_u16, tilewright_map_cast_i64_i32,
    tilewright_map_cast_i64_u32, tilewright_map_cast_i64_i64, tilewright_map_cast_i64_b8,
    tilewright_map_cast_b8_f32, tilewright_map_cast_b8_i8, tilewright_map_cast_b8_u8,
    tilewright_map_cast_b8_i16, tilewright_map_cast_b8_u16, tilewright_map_cast_b8_i32,
    tilewright_map_cast_b8_u32, tilewright_map_cast_b8_i64, tilewright_map_cast_b8_b8;

/* y = row(inputs); axes of extent 1 broadcast. Operands: the inputs, y, all with six axes. */
struct tilewright_map_attributes {
    tilewright_row_function row;
    int32_t operands; /* the output counts, and comes last */
    float parameters[4];
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_map_attributes) == (sizeof(void *) == 4 ? 24 : 32),
                       "tilewright_map_attributes");

void tilewright_map(const struct tilewright_map_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

void tilewright_matmul_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: a and b, the bias if there is one, y; matrices stand in the last two of six axes. */
struct tilewright_matmul_variable_f32_attributes {
    int32_t has_bias; /* the bias is among the operands */
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_matmul_variable_f32_attributes) == 12,
                       "tilewright_matmul_variable_f32_attributes");

void tilewright_matmul_variable_f32(const struct tilewright_matmul_variable_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = (sum * multiplier + half) >> shift, limited. Operands: a, b, y of int16; matrices stand in
 * the last two of six axes. */
struct tilewright_matmul_halves_attributes {
    int32_t multiplier;
    int32_t shift; /* 1 or more */
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_matmul_halves_attributes) == 16,
                       "tilewright_matmul_halves_attributes");

void tilewright_matmul_halves(const struct tilewright_matmul_halves_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Products of two 8-bit matrices that are computed at run time, with up to two batch axes.
 * Operands: a [b0, b1, m, k]; b [b0, b1, k, n]; constants [n][4]; y [b0, b1, m, n]; scratch: four
 * rows of a, four columns of b as int16, constants of these columns. Partial results, where k is
 * cut: 64 bytes for 4 rows by 4 columns. */
struct tilewright_matmul_integer_attributes {
    int32_t a_zero_point; /* of int8: less 128 if a is uint8 */
    int32_t a_is_unsigned; /* 1: a is uint8 */
    int32_t b_zero_point; /* in b's own type */
    int32_t b_is_unsigned; /* 1: b is uint8 */
    tilewright_block_finish *finish;
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t weights_at; /* bytes, in scratch */
    int32_t rows_at; /* bytes, in scratch */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_matmul_integer_attributes) == (sizeof(void *) == 4 ? 36 : 40),
                       "tilewright_matmul_integer_attributes");

void tilewright_matmul_integer(const struct tilewright_matmul_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: the inputs, y. */
struct tilewright_concat_attributes {
    int32_t element_bytes; /* 1, 2, 4 or 8 */
    int32_t inputs;
    int32_t axis; /* of the views; whole in every tile */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_concat_attributes) == 12,
                       "tilewright_concat_attributes");

void tilewright_concat(const struct tilewright_concat_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x, y. */
struct tilewright_pad_attributes {
    int32_t element_bytes; /* 1, 2, 4 or 8 */
    int32_t pads[6]; /* elements in front of the input */
    uint32_t value[2]; /* the padding's bits: bits 0 to 31 and, for 8 bytes, 32 to 63 */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_pad_attributes) == 36,
                       "tilewright_pad_attributes");

void tilewright_pad(const struct tilewright_pad_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Element i of the output along an axis is element i / times of the input. Operands: x, y. */
struct tilewright_repeat_attributes {
    int32_t element_bytes; /* 1, 2, 4 or 8 */
    int32_t times[6];
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_repeat_attributes) == 28,
                       "tilewright_repeat_attributes");

void tilewright_repeat(const struct tilewright_repeat_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Element i of the output along an axis is element starts + steps * i of the input. Operands: x, y. */
struct tilewright_copy_attributes {
    int32_t element_bytes; /* 1, 2, 4 or 8 */
    int32_t starts[6];
    int32_t steps[6];
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_copy_attributes) == 52,
                       "tilewright_copy_attributes");

void tilewright_copy(const struct tilewright_copy_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Extents of the whole tensors, not of their tiles. Operands: x, y. */
struct tilewright_reshape_attributes {
    int32_t element_bytes; /* 1, 2, 4 or 8 */
    int32_t x_extents[6];
    int32_t y_extents[6];
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_reshape_attributes) == 52,
                       "tilewright_reshape_attributes");

void tilewright_reshape(const struct tilewright_reshape_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

void tilewright_mul_add_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_row_body tilewright_mul_bytes_high, tilewright_mul_bytes_shift,
    tilewright_mul_bytes_twice;

/* y = finish(((a ^ flip) + offset) * ((b ^ flip) + offset)) for 8-bit operands; an operand's flip
 * is 128 for int8, 0 for uint8, its offset -(zero point + flip). Operands: a, b, y. */
struct tilewright_mul_bytes_attributes {
    tilewright_row_function row; /* of the rule that finishes products */
    int32_t a_flip;
    int32_t a_offset;
    int32_t b_flip;
    int32_t b_offset;
    int32_t multiplier;
    int32_t addend;
    int32_t shift;
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_mul_bytes_attributes) == (sizeof(void *) == 4 ? 40 : 48),
                       "tilewright_mul_bytes_attributes");

void tilewright_mul_bytes(const struct tilewright_mul_bytes_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x, scale, the bias if there is one, y, with six axes; the last one is whole in every
 * tile. */
struct tilewright_norm_f32_attributes {
    float epsilon;
    int32_t biased; /* the bias is among the operands */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_norm_f32_attributes) == 8,
                       "tilewright_norm_f32_attributes");

void tilewright_layer_norm_f32(const struct tilewright_norm_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_rms_norm_f32(const struct tilewright_norm_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_layer_norm_f32_parts(const struct tilewright_norm_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_rms_norm_f32_parts(const struct tilewright_norm_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* iLayerNorm and iRMSNorm: integers normalised over the last axis of the view. Operands: x (8 or 16
 * bits); w and, for iLayerNorm, b, int32 along the last axis; y, int8. */
struct tilewright_norm_integer_attributes {
    int32_t x_type; /* TILEWRIGHT_INT8 ... */
    int32_t shift;
    int32_t wide; /* 0: products with w, with b added, fit 32 bits */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_norm_integer_attributes) == 12,
                       "tilewright_norm_integer_attributes");

void tilewright_layer_norm_integer(const struct tilewright_norm_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_rms_norm_integer(const struct tilewright_norm_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_layer_norm_integer_parts(const struct tilewright_norm_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_rms_norm_integer_parts(const struct tilewright_norm_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* iNoNorm: y = low byte of ((x * w + b) * multiplier) >> shift, with broadcasting. Operands: x, w,
 * b (int32), y (int8). */
struct tilewright_no_norm_integer_attributes {
    int32_t x_type; /* TILEWRIGHT_INT8 ... */
    int32_t w_type; /* TILEWRIGHT_INT8 ... */
    int32_t multiplier;
    int32_t shift;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_no_norm_integer_attributes) == 16,
                       "tilewright_no_norm_integer_attributes");

void tilewright_no_norm_integer(const struct tilewright_no_norm_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x and y [n, c, h, w]. */
struct tilewright_max_pool_f32_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_max_pool_f32_attributes) == 40,
                       "tilewright_max_pool_f32_attributes");

void tilewright_max_pool_f32(const struct tilewright_max_pool_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x and y [n, c, h, w]. */
struct tilewright_average_pool_f32_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t include_pads; /* 1: padding counts too, up to (and without) the input positions `limits` */
    int32_t limits[2];
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_average_pool_f32_attributes) == 52,
                       "tilewright_average_pool_f32_attributes");

void tilewright_average_pool_f32(const struct tilewright_average_pool_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* The mean of all rows and columns, a part at a time; `taps` is their number. Operands: x and y [n,
 * c, h, w]. Partial results: a float32 sum for each channel, so that sums have the order of
 * average_pool_f32. */
struct tilewright_average_rows_f32_attributes {
    int32_t taps;
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_average_rows_f32_attributes) == 12,
                       "tilewright_average_rows_f32_attributes");

void tilewright_average_rows_f32(const struct tilewright_average_rows_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_POOL_SHORT_TAPS 128
#define TILEWRIGHT_POOL_HALF_TAPS 257

tilewright_largest_bytes tilewright_largest_int8, tilewright_largest_int8_2x2,
    tilewright_largest_int8_3x3, tilewright_largest_uint8, tilewright_largest_uint8_2x2,
    tilewright_largest_uint8_3x3;

/* Operands: x and y [n, c, h, w] of 8 bits. */
struct tilewright_max_pool_integer_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t is_unsigned; /* 1: x and y are uint8 */
    tilewright_largest_bytes *largest; /* for channels that lie side by side; may be NULL */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_max_pool_integer_attributes) == (sizeof(void *) == 4 ? 40 : 48),
                       "tilewright_max_pool_integer_attributes");

void tilewright_max_pool_integer(const struct tilewright_max_pool_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = round half even of (sum << left) * multiplier / 2^(32 + shift) / taps, + zero point.
 * Operands: x and y [n, c, h, w] of 8 bits. Partial results, where rows of the only window are cut:
 * a sum for each channel, int16 of windows of at most TILEWRIGHT_POOL_SHORT_TAPS taps, else int32. */
struct tilewright_average_pool_integer_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t counted[4]; /* taps count in rows [0] to [1] and columns [2] to [3], ends excluded */
    int32_t is_unsigned; /* 1: x is uint8 */
    int32_t x_zero_point;
    int32_t multiplier;
    int32_t left;
    int32_t shift;
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
    int32_t whole_multiplier;
    int32_t whole_addend;
    int32_t whole_shift; /* 0: there are no such numbers */
    int32_t whole_half;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_average_pool_integer_attributes) == 96,
                       "tilewright_average_pool_integer_attributes");

void tilewright_average_pool_integer(const struct tilewright_average_pool_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = sum of the taps in x / their number, rounded half away from zero. Operands: x and y [n, c, h,
 * w] of 8 bits. Partial results as those of average_pool_integer. */
struct tilewright_average_pool_away_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t counted[4]; /* taps count in rows [0] to [1] and columns [2] to [3], ends excluded */
    int32_t is_unsigned; /* 1: x is uint8 */
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_average_pool_away_attributes) == 60,
                       "tilewright_average_pool_away_attributes");

void tilewright_average_pool_away(const struct tilewright_average_pool_away_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = (x / scale, rounded half to even, or half away from zero: quantize_away_f32) + zero point.
 * Operands: x, y. */
struct tilewright_quantize_f32_attributes {
    int32_t element_bytes; /* of y: 1 or 2 */
    float scale;
    int32_t zero_point;
    int32_t minimum; /* of y's type */
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_quantize_f32_attributes) == 20,
                       "tilewright_quantize_f32_attributes");

void tilewright_quantize_f32(const struct tilewright_quantize_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_quantize_away_f32(const struct tilewright_quantize_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = (x / scale[i], rounded half to even) + zero point[i], i along an axis. Operands: x, scales
 * float [extent], zero points int32 [extent], y. */
struct tilewright_quantize_axis_f32_attributes {
    int32_t element_bytes; /* of y: 1 or 2 */
    int32_t axis; /* of the views; scales and zero points follow it */
    int32_t minimum; /* of y's type */
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_quantize_axis_f32_attributes) == 16,
                       "tilewright_quantize_axis_f32_attributes");

void tilewright_quantize_axis_f32(const struct tilewright_quantize_axis_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = (x - zero point) * scale. Operands: x, y. */
struct tilewright_dequantize_f32_attributes {
    int32_t x_type; /* TILEWRIGHT_INT8 ... */
    float scale;
    int32_t zero_point;
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_dequantize_f32_attributes) == 20,
                       "tilewright_dequantize_f32_attributes");

void tilewright_dequantize_f32(const struct tilewright_dequantize_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = (x - zero point[i]) * scale[i], i along an axis. Operands: x, scales float [extent], zero
 * points int32 [extent], y. */
struct tilewright_dequantize_axis_f32_attributes {
    int32_t x_type; /* TILEWRIGHT_INT8 ... */
    int32_t axis; /* of the views; scales and zero points follow it */
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_dequantize_axis_f32_attributes) == 16,
                       "tilewright_dequantize_axis_f32_attributes");

void tilewright_dequantize_axis_f32(const struct tilewright_dequantize_axis_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = (a - za) / (b - zb) * doubled / 2^32 * 2^shift + zero point, limited; the numerator is
 * shifted to 31 bits before its product with the reciprocal. Operands: a, b; 2^bits / d as Q0.31
 * for d from 0 to 255; y, all but the table of 8 bits and of one type. The kernel of int16 has no
 * table, and zero points of 0. */
struct tilewright_div_fixed_attributes {
    int32_t is_unsigned; /* 1: uint8 */
    int32_t a_zero_point;
    int32_t b_zero_point;
    int32_t doubled;
    int32_t shift;
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_div_fixed_attributes) == 32,
                       "tilewright_div_fixed_attributes");

void tilewright_div_fixed(const struct tilewright_div_fixed_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_div_halves(const struct tilewright_div_fixed_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = 1 / sqrt(x) * 2^left * doubled / 2^12 / 2^right, limited; the largest y where x is 0 or
 * below. Operands: x and y of int16. */
struct tilewright_rsqrt_halves_attributes {
    int32_t doubled;
    int32_t left;
    int32_t right;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_rsqrt_halves_attributes) == 12,
                       "tilewright_rsqrt_halves_attributes");

void tilewright_rsqrt_halves(const struct tilewright_rsqrt_halves_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Each line of the view's last axis divided by its length, in steps of 1/128. Operands: x and y of
 * 8 bits. */
struct tilewright_l2_fixed_attributes {
    int32_t is_unsigned; /* 1: x and y are uint8, and 128 stands for 0 in y */
    int32_t x_zero_point;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_l2_fixed_attributes) == 8,
                       "tilewright_l2_fixed_attributes");

void tilewright_l2_fixed(const struct tilewright_l2_fixed_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_CELL_RNN 0
#define TILEWRIGHT_CELL_GRU 1
#define TILEWRIGHT_CELL_LSTM 2
#define TILEWRIGHT_SIGMOID 0
#define TILEWRIGHT_TANH 1
#define TILEWRIGHT_RELU 2
#define TILEWRIGHT_AFFINE 3
#define TILEWRIGHT_LEAKY_RELU 4
#define TILEWRIGHT_THRESHOLDED_RELU 5
#define TILEWRIGHT_SCALED_TANH 6
#define TILEWRIGHT_HARD_SIGMOID 7
#define TILEWRIGHT_ELU 8
#define TILEWRIGHT_SOFTSIGN 9
#define TILEWRIGHT_SOFTPLUS 10

/* RNN, GRU or LSTM over steps of a sequence and rows of its gates; per direction three activations.
 * An operand that the node leaves out has number -1 here, others their position in the operand
 * array. Operands with trailing axes: X [step, entry, input], W [direction, gate * unit, input], R
 * [direction, gate * unit, unit], the biases of W and of R [direction, gate * unit], lengths
 * [entry], initial states [direction, entry, unit], P [direction, 3 * unit], mask [step, entry, 1]
 * of bytes, Y [step, direction, entry, unit], last states. Scratch has floats for each gate of the
 * units, for the state and for the cell state of an LSTM; where steps or rows are cut, partial
 * results have them for each direction and entry of the tile. Rows are cut within one step only. */
struct tilewright_recurrent_f32_attributes {
    int32_t cell;
    int32_t reverse[2];
    int32_t activations[6];
    float alpha[6];
    float beta[6];
    float clip;
    int32_t linear_before_reset;
    int32_t input_forget;
    float cell_clip; /* 0: none */
    int32_t bias; /* of W; that of R follows */
    int32_t lengths;
    int32_t initial_h;
    int32_t initial_c;
    int32_t peepholes;
    int32_t mask; /* steps with 0 are left out: the state stays, and Y has it again */
    int32_t outputs; /* position of Y; Y_h follows, and Y_c for LSTM */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_recurrent_f32_attributes) == 128,
                       "tilewright_recurrent_f32_attributes");

void tilewright_recurrent_f32(const struct tilewright_recurrent_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Sums of integers over axes of the view; y is int32, and sums beyond 32 bits wrap. Operands: x; y,
 * in which these axes have extent 1. */
struct tilewright_sum_integer_attributes {
    int32_t x_type; /* TILEWRIGHT_INT8 ... */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_sum_integer_attributes) == 4,
                       "tilewright_sum_integer_attributes");

void tilewright_sum_integer(const struct tilewright_sum_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Means of integers over axes of the view. Operands: x; y, in which these axes have extent 1;
 * scratch with one accumulator for each element of y: int32, int64 if x is int32. */
struct tilewright_mean_integer_attributes {
    int32_t x_type; /* TILEWRIGHT_INT8 ... */
    int32_t count; /* elements of one sum */
    int32_t shift; /* its logarithm if it is a power of two, else -1 */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_mean_integer_attributes) == 12,
                       "tilewright_mean_integer_attributes");

void tilewright_mean_integer(const struct tilewright_mean_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_mean_integer_wide(const struct tilewright_mean_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* IntegerDiv: (numerator * a) / (eta * b + epsilon) to the nearest integer, halves away from zero,
 * with broadcasting; 0 where the divisor is 0. Operands: a, b, y (int32). */
struct tilewright_divide_integer_attributes {
    int32_t a_type; /* TILEWRIGHT_INT8 ... */
    int32_t b_type; /* TILEWRIGHT_INT8 ... */
    uint32_t numerator[2]; /* low word, high word */
    int32_t eta;
    int32_t epsilon;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_divide_integer_attributes) == 24,
                       "tilewright_divide_integer_attributes");

void tilewright_divide_integer(const struct tilewright_divide_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

extern const struct tilewright_reducer tilewright_reduce_sum_f32, tilewright_reduce_sum_i32,
    tilewright_reduce_sum_i64, tilewright_reduce_mean_f32, tilewright_reduce_mean_i32,
    tilewright_reduce_mean_i64, tilewright_reduce_prod_f32, tilewright_reduce_prod_i32,
    tilewright_reduce_prod_i64, tilewright_reduce_l1_f32, tilewright_reduce_l1_i32,
    tilewright_reduce_l1_i64, tilewright_reduce_sum_square_f32, tilewright_reduce_sum_square_i32,
    tilewright_reduce_sum_square_i64, tilewright_reduce_l2_f32, tilewright_reduce_log_sum_f32,
    tilewright_reduce_log_sum_exp_f32, tilewright_reduce_max_f32, tilewright_reduce_max_i8,
    tilewright_reduce_max_u8, tilewright_reduce_max_i16, tilewright_reduce_max_u16,
    tilewright_reduce_max_i32, tilewright_reduce_max_u32, tilewright_reduce_max_i64,
    tilewright_reduce_min_f32, tilewright_reduce_min_i8, tilewright_reduce_min_u8,
    tilewright_reduce_min_i16, tilewright_reduce_min_u16, tilewright_reduce_min_i32,
    tilewright_reduce_min_u32, tilewright_reduce_min_i64, tilewright_reduce_arg_max_f32,
    tilewright_reduce_arg_max_i8, tilewright_reduce_arg_max_u8, tilewright_reduce_arg_max_i16,
    tilewright_reduce_arg_max_u16, tilewright_reduce_arg_max_i32, tilewright_reduce_arg_max_u32,
    tilewright_reduce_arg_max_i64, tilewright_reduce_arg_min_f32, tilewright_reduce_arg_min_i8,
    tilewright_reduce_arg_min_u8, tilewright_reduce_arg_min_i16, tilewright_reduce_arg_min_u16,
    tilewright_reduce_arg_min_i32, tilewright_reduce_arg_min_u32, tilewright_reduce_arg_min_i64;

/* Operands: x with six axes, y with the same axes, of extent 1 where they are reduced. Reduced axes
 * are whole in every tile. */
struct tilewright_reduce_attributes {
    const struct tilewright_reducer *reducer;
    uint32_t axes; /* bit i: axis i of the view is reduced */
    int32_t select_last;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_reduce_attributes) == (sizeof(void *) == 4 ? 12 : 16),
                       "tilewright_reduce_attributes");

void tilewright_reduce(const struct tilewright_reduce_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_reduce_parts(const struct tilewright_reduce_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* iSoftmax, ITAMax and ITAPartialMax over the last axis of the view: 8-bit integers to unsigned
 * probabilities. Operands: x; for iSoftmax the table of powers, uint32[256]; y, uint8. */
struct tilewright_softmax_dialect_attributes {
    int32_t flip; /* 128: x is int8; 0: uint8 */
    int32_t levels; /* iSoftmax and ITAMax: the largest probability; ITAPartialMax: the half of it */
    int32_t group; /* ITAPartialMax: elements whose maximum is taken at once */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_softmax_dialect_attributes) == 12,
                       "tilewright_softmax_dialect_attributes");

void tilewright_softmax_table(const struct tilewright_softmax_dialect_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_ita_max(const struct tilewright_softmax_dialect_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_ita_partial_max(const struct tilewright_softmax_dialect_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* iSoftmax over the last axis of the view, which computes each power again instead of looking it
 * up. Operands: x; y, uint8. All terms and products fit 32 bits. */
struct tilewright_softmax_powers_attributes {
    int32_t flip; /* 128: x is int8; 0: uint8 */
    int32_t levels; /* the largest probability */
    int32_t a;
    int32_t b;
    int32_t c;
    int32_t log2; /* above 0 */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_softmax_powers_attributes) == 24,
                       "tilewright_softmax_powers_attributes");

void tilewright_softmax_powers(const struct tilewright_softmax_powers_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x, y. */
struct tilewright_softmax_f32_attributes {
    int32_t axis; /* of the view; whole in every tile */
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_softmax_f32_attributes) == 12,
                       "tilewright_softmax_f32_attributes");

void tilewright_softmax_f32(const struct tilewright_softmax_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_TREE_NODE_WORDS 4
#define TILEWRIGHT_TREE_MISSING_TRUE 6

/* Operands: x [rows, features]; nodes [node][4 words] (feature, or -1 for a leaf; the nodes of the
 * two branches, or first and number of the leaf's values; mode); thresholds [node]; roots [tree];
 * targets and values [value]; y [rows, targets]. Branches stand behind their node. */
struct tilewright_tree_ensemble_attributes {
    int32_t trees;
    int32_t targets;
    int32_t aggregate; /* 0: sum, 1: smallest, 2: largest value */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_tree_ensemble_attributes) == 12,
                       "tilewright_tree_ensemble_attributes");

void tilewright_tree_ensemble_f32(const struct tilewright_tree_ensemble_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

void tilewright_clip_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_hard_swish_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_sigmoid_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_tanh_f32(const struct tilewright_clamp_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* LeakyRelu: y = x, or alpha * x where x is negative. Swish: y = x / (1 + exp(-alpha * x)). */
struct tilewright_alpha_f32_attributes {
    float alpha;
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_alpha_f32_attributes) == 12,
                       "tilewright_alpha_f32_attributes");

void tilewright_leaky_relu_f32(const struct tilewright_alpha_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_swish_f32(const struct tilewright_alpha_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = alpha * x + beta, clamped to [0, 1]. */
struct tilewright_hard_sigmoid_f32_attributes {
    float alpha;
    float beta;
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_hard_sigmoid_f32_attributes) == 16,
                       "tilewright_hard_sigmoid_f32_attributes");

void tilewright_hard_sigmoid_f32(const struct tilewright_hard_sigmoid_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_SOFTMAX_BLOCK_BITS 4

tilewright_row_body tilewright_requantize_row, tilewright_requantize_short_row;

/* y = table[x - smallest value of the type of x]. Operands: x, table (256 elements), y. */
struct tilewright_lookup_attributes {
    int32_t flip; /* 128: x is int8; 0: uint8 */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_lookup_attributes) == 4,
                       "tilewright_lookup_attributes");

void tilewright_lookup_bytes(const struct tilewright_lookup_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_lookup_words(const struct tilewright_lookup_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Every element of x, finished with the constants of its channel. Operands: x, constants
 * [channel][4], y. */
struct tilewright_requantize_attributes {
    int32_t x_type; /* TILEWRIGHT_INT8 ... */
    int32_t channel_axis; /* of the view; -1: one row of constants for all */
    tilewright_row_function row; /* how long the pieces of a row are that lie on the stack */
    tilewright_line_finish *finish;
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_requantize_attributes) == (sizeof(void *) == 4 ? 24 : 32),
                       "tilewright_requantize_attributes");

void tilewright_requantize(const struct tilewright_requantize_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Softmax of 8-bit tensors along one axis, requantised. Operands: x; table of exp(-scale * d) for d
 * = 0 ... 255, float32; y. In parts the table has blocks of 16 powers, each behind a word with the
 * first d of the call (bits 0 to 15) and the number of powers of the call; partial results are the
 * powers of all elements, float32. */
struct tilewright_softmax_integer_attributes {
    int32_t axis; /* of the view */
    int32_t is_unsigned; /* 1: x is uint8 */
    float multiplier; /* y = round half even of probability * multiplier, + zero point */
    int32_t zero_point;
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_softmax_integer_attributes) == 24,
                       "tilewright_softmax_integer_attributes");

void tilewright_softmax_integer(const struct tilewright_softmax_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_softmax_integer_parts(const struct tilewright_softmax_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

extern const struct tilewright_reducer tilewright_reduce_lp_f32;

/* Operands: x [n, c, -, d, h, w], weights [c of y, c of x, -, d, h, w], the bias if there is one,
 * y. Only float results are clamped. */
struct tilewright_conv_any_attributes {
    int32_t kernel[3];
    int32_t strides[3];
    int32_t dilations[3];
    int32_t pads[3]; /* in front, above and to the left */
    int32_t group_inputs;
    int32_t group_outputs;
    int32_t integer; /* elements are int32_t, else float */
    int32_t biased;
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_any_attributes) == 72,
                       "tilewright_conv_any_attributes");

void tilewright_conv_any(const struct tilewright_conv_any_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x [n, c, -, d, h, w], weights [c of x, c of y, -, d, h, w], the bias if there is one,
 * y. */
struct tilewright_conv_transpose_f32_attributes {
    int32_t kernel[3];
    int32_t strides[3];
    int32_t dilations[3];
    int32_t pads[3]; /* in front, above and to the left */
    int32_t group_inputs;
    int32_t group_outputs;
    int32_t biased;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_transpose_f32_attributes) == 60,
                       "tilewright_conv_transpose_f32_attributes");

void tilewright_conv_transpose_f32(const struct tilewright_conv_transpose_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x and y [n, c, -, d, h, w]. */
struct tilewright_pool_any_attributes {
    const struct tilewright_reducer *reducer;
    int32_t kernel[3];
    int32_t strides[3];
    int32_t dilations[3];
    int32_t pads[3]; /* in front, above and to the left */
    int32_t limits[3]; /* the first input positions behind what counts, if padding does */
    int32_t include_pads;
    float power;
    int32_t clamped; /* whether the bounds apply; to float only */
    float minimum;
    float maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_pool_any_attributes) == (sizeof(void *) == 4 ? 84 : 88),
                       "tilewright_pool_any_attributes");

void tilewright_pool_any(const struct tilewright_pool_any_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x, y and int64 indices [n, c, -, d, h, w]. */
struct tilewright_max_pool_indices_attributes {
    int32_t kernel[3];
    int32_t strides[3];
    int32_t dilations[3];
    int32_t pads[3]; /* in front, above and to the left */
    int32_t steps[3]; /* of the flat index along each spatial axis */
    int32_t channels; /* of the whole tensor */
    int32_t image; /* elements of one channel */
    int32_t x_type; /* TILEWRIGHT_INT8 ... */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_max_pool_indices_attributes) == 72,
                       "tilewright_max_pool_indices_attributes");

void tilewright_max_pool_indices(const struct tilewright_max_pool_indices_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* Operands: x, indices int32 and weights float [extent of y][taps], y. */
struct tilewright_interpolate_f32_attributes {
    int32_t axis;
    int32_t taps;
    float outside; /* the result where the index table has -1 */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_interpolate_f32_attributes) == 12,
                       "tilewright_interpolate_f32_attributes");

void tilewright_interpolate_f32(const struct tilewright_interpolate_f32_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_XPULPV2_TAPS_PLAIN_BYTES 64
#define TILEWRIGHT_XPULPV2_TAPS_POINTERS 4
#define TILEWRIGHT_XPULPV2_PLANES_BYTES 448

tilewright_xpulpv2_block tilewright_xpulpv2_folded_signed, tilewright_xpulpv2_folded_unsigned,
    tilewright_xpulpv2_layer_signed, tilewright_xpulpv2_layer_unsigned,
    tilewright_xpulpv2_high_signed, tilewright_xpulpv2_high_unsigned,
    tilewright_xpulpv2_away_signed, tilewright_xpulpv2_away_unsigned;

/* Convolution of 8-bit tensors, four products per instruction. */
struct tilewright_conv_xpulpv2_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t group_inputs; /* channels of x in one group */
    int32_t group_outputs; /* channels of y in one group */
    int32_t padding; /* the stored byte that stands for zero; -1: taps never leave x */
    int32_t is_unsigned; /* 1: x is uint8 */
    int32_t is_planar; /* 1: weights are [c][kh][kw]; columns of x lie side by side */
    int32_t is_direct; /* 1: c is a multiple of 4 and its elements lie side by side in x */
    tilewright_block_finish *finish;
    tilewright_xpulpv2_block *finished; /* NULL: sums go to `finish` */
    int32_t row_words; /* of the rule */
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_xpulpv2_attributes) == (sizeof(void *) == 4 ? 84 : 96),
                       "tilewright_conv_xpulpv2_attributes");

void tilewright_conv_xpulpv2(const struct tilewright_conv_xpulpv2_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_xpulpv2_column tilewright_xpulpv2_plane_sums_signed,
    tilewright_xpulpv2_plane_sums_unsigned, tilewright_xpulpv2_plane_folded_both_signed,
    tilewright_xpulpv2_plane_folded_both_unsigned, tilewright_xpulpv2_plane_folded_around_signed,
    tilewright_xpulpv2_plane_folded_around_unsigned, tilewright_xpulpv2_plane_folded_above_signed,
    tilewright_xpulpv2_plane_folded_above_unsigned, tilewright_xpulpv2_plane_high_both_signed,
    tilewright_xpulpv2_plane_high_both_unsigned, tilewright_xpulpv2_plane_high_around_signed,
    tilewright_xpulpv2_plane_high_around_unsigned, tilewright_xpulpv2_plane_high_above_signed,
    tilewright_xpulpv2_plane_high_above_unsigned, tilewright_xpulpv2_plane_even_both_signed,
    tilewright_xpulpv2_plane_even_both_unsigned, tilewright_xpulpv2_plane_even_around_signed,
    tilewright_xpulpv2_plane_even_around_unsigned, tilewright_xpulpv2_plane_even_above_signed,
    tilewright_xpulpv2_plane_even_above_unsigned, tilewright_xpulpv2_five_sums_signed,
    tilewright_xpulpv2_five_sums_unsigned, tilewright_xpulpv2_five_folded_both_signed,
    tilewright_xpulpv2_five_folded_both_unsigned, tilewright_xpulpv2_five_folded_around_signed,
    tilewright_xpulpv2_five_folded_around_unsigned, tilewright_xpulpv2_five_folded_above_signed,
    tilewright_xpulpv2_five_folded_above_unsigned, tilewright_xpulpv2_five_high_both_signed,
    tilewright_xpulpv2_five_high_both_unsigned, tilewright_xpulpv2_five_high_around_signed,
    tilewright_xpulpv2_five_high_around_unsigned, tilewright_xpulpv2_five_high_above_signed,
    tilewright_xpulpv2_five_high_above_unsigned, tilewright_xpulpv2_five_even_both_signed,
    tilewright_xpulpv2_five_even_both_unsigned, tilewright_xpulpv2_five_even_around_signed,
    tilewright_xpulpv2_five_even_around_unsigned, tilewright_xpulpv2_five_even_above_signed,
    tilewright_xpulpv2_five_even_above_unsigned, tilewright_xpulpv2_seven_sums_signed,
    tilewright_xpulpv2_seven_sums_unsigned, tilewright_xpulpv2_seven_folded_both_signed,
    tilewright_xpulpv2_seven_folded_both_unsigned, tilewright_xpulpv2_seven_folded_around_signed,
    tilewright_xpulpv2_seven_folded_around_unsigned, tilewright_xpulpv2_seven_folded_above_signed,
    tilewright_xpulpv2_seven_folded_above_unsigned, tilewright_xpulpv2_seven_high_both_signed,
    tilewright_xpulpv2_seven_high_both_unsigned, tilewright_xpulpv2_seven_high_around_signed,
    tilewright_xpulpv2_seven_high_around_unsigned, tilewright_xpulpv2_seven_high_above_signed,
    tilewright_xpulpv2_seven_high_above_unsigned, tilewright_xpulpv2_seven_even_both_signed,
    tilewright_xpulpv2_seven_even_both_unsigned, tilewright_xpulpv2_seven_even_around_signed,
    tilewright_xpulpv2_seven_even_around_unsigned, tilewright_xpulpv2_seven_even_above_signed,
    tilewright_xpulpv2_seven_even_above_unsigned;

/* Depthwise convolution of 8-bit tensors by words of a window. */
struct tilewright_depthwise_xpulpv2_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t padding; /* the stored byte that stands for zero */
    int32_t is_unsigned; /* 1: x is uint8 */
    const struct tilewright_line_rule *rule;
    tilewright_xpulpv2_column *sums; /* computes 4 bytes for each output */
    tilewright_xpulpv2_column *finished; /* NULL: sums go to the rule */
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_depthwise_xpulpv2_attributes) == (sizeof(void *) == 4 ? 68 : 80),
                       "tilewright_depthwise_xpulpv2_attributes");

void tilewright_depthwise_xpulpv2(const struct tilewright_depthwise_xpulpv2_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

/* y = limit((((a ^ flip) * high + (b ^ flip) * high + high) + (((a ^ flip) * low + (b ^ flip) * low
 * + low) >> 12)) >> shift). Each of a and b is multiplied by `high` and `low` of its own
 * multiplier; the last `high` and `low` are those of the addend; low parts have 12 bits. An
 * operand's flip is 128 for int8, 0 for uint8. Operands: a, b, y. */
struct tilewright_add_split_attributes {
    int32_t a_flip;
    int32_t b_flip;
    int32_t a_multiplier[2]; /* high, low */
    int32_t b_multiplier[2]; /* high, low */
    int32_t addend[2]; /* high, low */
    int32_t shift;
    int32_t minimum;
    int32_t maximum;
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_add_split_attributes) == 44,
                       "tilewright_add_split_attributes");

void tilewright_add_xpulpv2_whole(const struct tilewright_add_split_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);
void tilewright_add_xpulpv2_split(const struct tilewright_add_split_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_MATMUL_XPULPV2_PLAIN_BYTES 80
#define TILEWRIGHT_MATMUL_XPULPV2_POINTERS 17

/* Product of two computed matrices of 8 bits, four products per instruction. Scratch: numbers of
 * the call, the columns of b as weights, their constants; four rows of a unless ``is_direct``. */
struct tilewright_matmul_xpulpv2_attributes {
    int32_t a_zero_point; /* in a's own type */
    int32_t is_unsigned; /* 1: a is uint8 */
    int32_t b_zero_point; /* of int8: less 128 if b is uint8 */
    int32_t b_is_unsigned; /* 1: b is uint8 */
    int32_t is_direct; /* 1: k is a multiple of 4 and its elements lie side by side in a */
    tilewright_block_finish *finish;
    tilewright_xpulpv2_block *finished; /* NULL: sums go to `finish` */
    int32_t row_words; /* of the rule */
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
    int32_t weights_at; /* bytes, in scratch */
    int32_t rows_at; /* bytes, in scratch */
    int32_t taps_at; /* bytes, in scratch */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_matmul_xpulpv2_attributes) == (sizeof(void *) == 4 ? 60 : 72),
                       "tilewright_matmul_xpulpv2_attributes");

void tilewright_matmul_xpulpv2(const struct tilewright_matmul_xpulpv2_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

void tilewright_max_pool_xpulpv2_words(const struct tilewright_max_pool_integer_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_vector_products tilewright_vector_xpulpv2_signed, tilewright_vector_xpulpv2_unsigned,
    tilewright_vector_xpulpv2_folded_signed, tilewright_vector_xpulpv2_folded_unsigned,
    tilewright_vector_xpulpv2_layer_signed, tilewright_vector_xpulpv2_layer_unsigned,
    tilewright_vector_xpulpv2_high_signed, tilewright_vector_xpulpv2_high_unsigned,
    tilewright_vector_xpulpv2_away_signed, tilewright_vector_xpulpv2_away_unsigned;

#define TILEWRIGHT_RUN_PIXELS 3

tilewright_runs_products tilewright_rvv_products_signed, tilewright_rvv_products_unsigned,
    tilewright_rvv_channels_signed, tilewright_rvv_channels_unsigned, tilewright_rvv_folded,
    tilewright_rvv_layer, tilewright_rvv_high, tilewright_rvv_away, tilewright_rvv_twice,
    tilewright_rvv_sums;

/* Convolution of 8-bit tensors by runs of taps. Operands: x [n, c, h, w]; weights int8
 * [group][block][tap][channel of the block], of depthwise ones [block][tap][channel of the block];
 * constants [channel][words of the rule]; y [n, c, h, w]; scratch: the table of runs, a pixel of
 * padding, and sums where the family does not finish them. */
struct tilewright_conv_runs_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t group_inputs; /* channels of x in one group */
    int32_t group_outputs; /* channels of y in one group; all of a depthwise convolution */
    int32_t padding; /* the stored byte that stands for zero; -1: taps never leave x */
    int32_t is_depthwise; /* 1: each channel of y has its own channel of x */
    int32_t block; /* channels of a block of weights */
    int32_t pixels; /* pixels that are multiplied together */
    int32_t gathers; /* 1: products gather taps, and need no table of runs; 2: gathered taps are one run */
    int32_t taps; /* weights of a channel */
    tilewright_runs_products *products;
    tilewright_runs_products *finished; /* how products finish sums */
    tilewright_block_finish *finish; /* NULL: products finish */
    int32_t biased; /* 1: rows of the rule begin with the bias */
    int32_t row_words; /* words of a row of the rule */
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
    int32_t padding_at; /* bytes, in scratch */
    int32_t gathered_at; /* bytes, in scratch */
    int32_t sums_at; /* bytes, in scratch */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_conv_runs_attributes) == (sizeof(void *) == 4 ? 112 : 128),
                       "tilewright_conv_runs_attributes");

void tilewright_conv_runs(const struct tilewright_conv_runs_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#define TILEWRIGHT_ADD_SPLIT_BELOW 12

void tilewright_add_split(const struct tilewright_add_split_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

tilewright_runs_products tilewright_dsp_products_signed, tilewright_dsp_products_unsigned,
    tilewright_dsp_folded, tilewright_dsp_layer, tilewright_dsp_high, tilewright_dsp_away,
    tilewright_dsp_twice, tilewright_dsp_sums;

tilewright_depthwise_sums tilewright_depthwise_dsp;

#define TILEWRIGHT_POOL_WORD_TAPS 32

tilewright_runs_products tilewright_mve_products_signed, tilewright_mve_products_unsigned,
    tilewright_mve_channels_signed, tilewright_mve_channels_unsigned, tilewright_mve_folded,
    tilewright_mve_layer, tilewright_mve_high, tilewright_mve_away, tilewright_mve_twice,
    tilewright_mve_sums;

tilewright_depthwise_compute tilewright_depthwise_mve_folded, tilewright_depthwise_mve_high;

/* Depthwise convolution of 8-bit tensors by up to 16 taps. Operands: x [n, c, h, w]; weights int8
 * [c][kernel]; constants [c][words of the rule]; y [n, c, h, w]; scratch: the padded window of one
 * channel. */
struct tilewright_depthwise_mve_attributes {
    int32_t kernel[2];
    int32_t strides[2];
    int32_t dilations[2];
    int32_t pads[2]; /* above and to the left */
    int32_t padding; /* the stored byte that stands for zero */
    int32_t is_unsigned; /* 1: x is uint8 */
    tilewright_depthwise_compute *compute;
    int32_t biased; /* 1: rows of the rule begin with the bias */
    int32_t row_words; /* words of a row of the rule */
    int32_t minimum; /* the bits of a float: rule rescale */
    int32_t maximum;
    int32_t addend; /* of rules with one for the layer */
    int32_t shift; /* of rules with one for the layer */
};
TILEWRIGHT_SIZE_ASSERT(sizeof(struct tilewright_depthwise_mve_attributes) == (sizeof(void *) == 4 ? 68 : 72),
                       "tilewright_depthwise_mve_attributes");

void tilewright_depthwise_mve(const struct tilewright_depthwise_mve_attributes *attributes,
    const struct tilewright_view *operands, uint32_t flags);

#undef TILEWRIGHT_SIZE_ASSERT
#ifdef __cplusplus
}
#endif

#endif
/* clang-format on */
