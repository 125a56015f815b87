/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over blocks of four channels for one vector, in assembler for RV32 with Xpulpv2, in C
 * elsewhere. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_XPULPV2_VECTOR_H
#define TILEWRIGHT_KERNELS_XPULPV2_VECTOR_H

#include "tilewright/kernels/integer_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks of four channels for one vector. The assembler depends on the order of the fields. */
struct tilewright_xpulpv2_vector {
    const uint8_t *x;
    int32_t words;         /* of the vector, at least 1 */
    const int8_t *weights; /* of the next block: [word][4 channels][4 bytes]; moved on */
    const int32_t *rows;   /* constants of the next block; moved on by those that finish */
    uint8_t *y;            /* the next result, moved on; or, without a finish, four sums */
    int32_t step;          /* bytes between the results of two channels */
    int32_t blocks;        /* at least 1; those that add to sums take one block */
    struct tilewright_limits limits;
};

typedef void tilewright_xpulpv2_vectors(struct tilewright_xpulpv2_vector *work);

/* Add the products of one block to four sums. */
tilewright_xpulpv2_vectors tilewright_xpulpv2_vector_sums_signed,
    tilewright_xpulpv2_vector_sums_unsigned;

/* Compute all blocks and store their results by a rule. */
tilewright_xpulpv2_vectors tilewright_xpulpv2_vector_folded_signed,
    tilewright_xpulpv2_vector_folded_unsigned, tilewright_xpulpv2_vector_layer_signed,
    tilewright_xpulpv2_vector_layer_unsigned, tilewright_xpulpv2_vector_high_signed,
    tilewright_xpulpv2_vector_high_unsigned, tilewright_xpulpv2_vector_away_signed,
    tilewright_xpulpv2_vector_away_unsigned;

#ifdef __cplusplus
}
#endif

#endif
