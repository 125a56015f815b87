/* SPDX-License-Identifier: Apache-2.0 */
/* The assembler of family xpulpv2 against the same in C, on random work. */
#include "reference.h"

#include <stdio.h>
#include <string.h>
#include <tilewright/port.h>

#include "pulp_open.h"

enum { X_BYTES = 4096, WEIGHT_BYTES = 4096, Y_BYTES = 4096, RUNS = 3, ROW_INTS = 64 };

#define L1 __attribute__((section(".bss.tilewright.l1")))

static L1 _Alignas(16) uint8_t x[X_BYTES];
static L1 _Alignas(16) uint8_t weights[WEIGHT_BYTES];
static L1 _Alignas(16) uint8_t y[2][Y_BYTES];
static L1 int32_t rows[ROW_INTS], sums[2][16], start[16];
static L1 struct tilewright_xpulpv2_run runs[RUNS];
static uint32_t state = 1, differences, cases;

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static int32_t between(int32_t low, int32_t high)
{
    return low + (int32_t)(next() % (uint32_t)(high - low + 1));
}

static void fill_bytes(void)
{
    for (int32_t i = 0; i < X_BYTES; i++) {
        x[i] = (uint8_t)next();
        weights[i] = (uint8_t)next();
    }
}

static void fill_rows(void)
{
    for (int32_t i = 0; i < ROW_INTS; i++) {
        rows[i] = i % 4 == 3 ? between(0, 20) : (int32_t)(next() << 8 ^ next()) >> between(0, 20);
    }
    for (int32_t i = 0; i < 16; i++) {
        start[i] = between(-100000, 100000);
    }
}

/* Rule away has a bound of sums above the shift. */
static void bound_sums(void)
{
    for (int32_t i = 3; i < ROW_INTS; i += 4) {
        rows[i] |= (int32_t)((uint32_t)between(-60000, 60000) << 8);
    }
}

static const int32_t no_bias[TILEWRIGHT_BLOCK_SUMS];

/* Limits of each kind, and what goes with them. */
static void limit(struct tilewright_xpulpv2_job *job)
{
    struct tilewright_limits *limits = &job->sink.limits;
    job->clip = between(-1, 1);
    job->sink.channel_stride = job->clip == TILEWRIGHT_XPULPV2_CLIP_BOTH ? between(1, 2) : 1;
    limits->maximum = between(1, 255);
    limits->minimum = between(-128, 0);
    if (job->clip == TILEWRIGHT_XPULPV2_CLIP_ABOVE_ZERO) {
        limits->minimum = 0;
    } else if (job->clip == TILEWRIGHT_XPULPV2_CLIP_AROUND_ZERO) {
        limits->minimum = -limits->maximum - 1;
    }
    limits->addend = (int32_t)next() >> between(0, 20);
    limits->shift = between(0, 20);
}

static void work_of(struct tilewright_xpulpv2_job *job, int32_t row_words, uint32_t which,
                    uint32_t seed)
{
    state = seed;
    memset(job, 0, sizeof *job);
    const int32_t run_count = between(1, RUNS);
    const int32_t y_stride = between(12, 30);
    for (int32_t r = 0; r < run_count; r++) {
        for (int32_t p = 0; p < TILEWRIGHT_BLOCK; p++) {
            runs[r].pixel[p] = x + between(0, 2000);
        }
        runs[r].step = (uintptr_t)between(0, 300);
    }
    job->runs = runs;
    job->runs_end = runs + run_count;
    job->next_run = run_count > 1 ? runs + 1 : NULL;
    job->run_words = between(1, 12);
    job->weights = weights;
    job->first_weights = weights;
    const int32_t blocks = between(1, 3);
    job->rows = rows;
    job->first_rows = rows;
    job->rows_end = rows + blocks * TILEWRIGHT_BLOCK * row_words;
    job->fours = between(1, 3);
    limit(job);
    job->pixel_step = 4 * y_stride - 4 * blocks * job->sink.channel_stride;
    for (int32_t p = 0; p < TILEWRIGHT_BLOCK; p++) {
        job->sink.pixel[p] = y[which] + p * y_stride;
    }
    job->sink.pixels = TILEWRIGHT_BLOCK;
    job->sink.row_words = row_words;
    job->sink.sums = sums[which];
    memcpy(sums[which], start, sizeof start);
}

static void compare(tilewright_xpulpv2_block *assembler, tilewright_xpulpv2_block *reference,
                    const struct tilewright_rule *rule)
{
    struct tilewright_xpulpv2_job job;
    fill_rows();
    if (rule == &tilewright_rule_away) {
        bound_sums();
    }
    const uint32_t seed = state;
    memset(y, 0, sizeof y);
    work_of(&job, rule->row_words, 0, seed);
    job.sink.start = rule->biased != 0 ? NULL : no_bias;
    reference(&job);
    const uint8_t *const at = job.weights;
    work_of(&job, rule->row_words, 1, seed);
    assembler(&job);
    const int is_same = memcmp(y[0], y[1], Y_BYTES) == 0 && at == job.weights;
    cases++;
    if (!is_same) {
        differences++;
    }
}

static void compare_sums(tilewright_xpulpv2_block *assembler, tilewright_xpulpv2_block *reference)
{
    struct tilewright_xpulpv2_job job;
    fill_rows();
    const uint32_t seed = state;
    work_of(&job, 1, 0, seed);
    reference(&job);
    work_of(&job, 1, 1, seed);
    assembler(&job);
    cases++;
    if (memcmp(sums[0], sums[1], sizeof sums[0]) != 0) {
        differences++;
    }
}

/* `clip`: how the function clamps. Pairs of columns need neighbouring windows and fourth weights of
 * zero. */
static void plane_of(struct tilewright_xpulpv2_plane *plane, uint32_t which, uint32_t seed,
                     int32_t is_folded, enum tilewright_xpulpv2_clip clip, int32_t may_pair)
{
    static int8_t short_rows[12];
    state = seed;
    memset(plane, 0, sizeof *plane);
    plane->bytes = x + between(0, 9);
    plane->pitch = between(4, 60);
    plane->down = plane->pitch * between(1, 2);
    plane->across = between(1, 2);
    plane->weights = (const int8_t *)weights;
    plane->bias = is_folded != 0 ? 0 : between(-9000, 9000);
    plane->multiplier = (int32_t)(next() << 8) >> between(0, 20);
    plane->addend = (int32_t)next() >> between(0, 20);
    plane->shift = between(0, 20);
    plane->out = y[which];
    plane->rows = between(1, 9);
    plane->columns = between(1, 7);
    plane->out_across = 4;
    plane->out_down = 4 * plane->columns;
    plane->minimum = between(-128, 0);
    plane->maximum = between(1, 255);
    if (clip == TILEWRIGHT_XPULPV2_CLIP_ABOVE_ZERO) {
        plane->minimum = 0;
    } else if (clip == TILEWRIGHT_XPULPV2_CLIP_AROUND_ZERO) {
        plane->minimum = -plane->maximum - 1;
    }
    if (may_pair != 0 && plane->down == plane->pitch && plane->across == 1) {
        for (int32_t i = 0; i < 12; i++) {
            short_rows[i] = i % 4 == 3 ? 0 : (int8_t)weights[i];
        }
        plane->weights = short_rows;
        plane->pairs = between(0, plane->columns / 2);
        plane->columns -= 2 * plane->pairs;
    }
}

/* `is_folded`: for functions that take no bias. */
static void compare_planes(tilewright_xpulpv2_column *assembler,
                           tilewright_xpulpv2_column *reference, int32_t is_folded,
                           enum tilewright_xpulpv2_clip clip, int32_t may_pair)
{
    struct tilewright_xpulpv2_plane plane;
    fill_rows();
    const uint32_t seed = state;
    memset(y, 0, sizeof y);
    plane_of(&plane, 0, seed, is_folded, clip, may_pair);
    reference(&plane);
    plane_of(&plane, 1, seed, is_folded, clip, may_pair);
    assembler(&plane);
    cases++;
    if (memcmp(y[0], y[1], Y_BYTES) != 0) {
        differences++;
    }
}

#define COMPARE_PLANE(shape, kind, is_folded, clip, may_pair)                                      \
    compare_planes(tilewright_xpulpv2_##shape##_##kind##_signed,                                   \
                   reference_##shape##_##kind##_signed, is_folded, clip, may_pair);                \
    compare_planes(tilewright_xpulpv2_##shape##_##kind##_unsigned,                                 \
                   reference_##shape##_##kind##_unsigned, is_folded, clip, may_pair)
#define COMPARE_PLANES(shape, pairs)                                                               \
    COMPARE_PLANE(shape, sums, 0, TILEWRIGHT_XPULPV2_CLIP_BOTH, pairs);                            \
    COMPARE_PLANE(shape, folded_both, 1, TILEWRIGHT_XPULPV2_CLIP_BOTH, pairs);                     \
    COMPARE_PLANE(shape, folded_around, 1, TILEWRIGHT_XPULPV2_CLIP_AROUND_ZERO, pairs);            \
    COMPARE_PLANE(shape, folded_above, 1, TILEWRIGHT_XPULPV2_CLIP_ABOVE_ZERO, pairs);              \
    COMPARE_PLANE(shape, high_both, 0, TILEWRIGHT_XPULPV2_CLIP_BOTH, pairs);                       \
    COMPARE_PLANE(shape, high_around, 0, TILEWRIGHT_XPULPV2_CLIP_AROUND_ZERO, pairs);              \
    COMPARE_PLANE(shape, high_above, 0, TILEWRIGHT_XPULPV2_CLIP_ABOVE_ZERO, pairs)

static void vector_of(struct tilewright_xpulpv2_vector *vector, uint32_t which, uint32_t seed)
{
    state = seed;
    memset(vector, 0, sizeof *vector);
    vector->x = x + between(0, 9);
    vector->words = between(1, 20);
    vector->weights = (const int8_t *)weights;
    vector->rows = rows;
    vector->y = y[which];
    vector->step = between(1, 3);
    vector->blocks = between(1, 4);
    vector->limits.minimum = between(-128, 0);
    vector->limits.maximum = between(1, 255);
    vector->limits.addend = (int32_t)next() >> between(0, 20);
    vector->limits.shift = between(0, 20);
}

/* `is_sums`: one block is added to four sums. */
/* What a function for vectors stores: sums, or elements by a rule without or with a bound of sums.
 */
enum stored { SUMS, ELEMENTS, BOUNDED };

static void compare_vectors(tilewright_xpulpv2_vectors *assembler,
                            tilewright_xpulpv2_vectors *reference, const enum stored stored)
{
    struct tilewright_xpulpv2_vector vectors[2];
    fill_rows();
    if (stored == BOUNDED) {
        bound_sums();
    }
    const uint32_t seed = state;
    memset(y, 0, sizeof y);
    for (uint32_t which = 0; which < 2; which++) {
        vector_of(&vectors[which], which, seed);
        if (stored == SUMS) {
            memcpy(y[which], start, sizeof start);
        }
        (which == 0 ? reference : assembler)(&vectors[which]);
    }
    cases++;
    const int is_same = vectors[0].weights == vectors[1].weights &&
                        vectors[0].rows == vectors[1].rows &&
                        vectors[1].y - y[1] == vectors[0].y - y[0];
    if (!is_same || memcmp(y[0], y[1], Y_BYTES) != 0) {
        differences++;
    }
}

static void compare_spread(void)
{
    const int32_t stride = between(4, 40);
    const int32_t pixels = between(4, 19);
    const int32_t count = between(1, 3);
    const int32_t pitch = between(pixels, 24);
    const int32_t apart = between(pitch * count, 100);
    const int32_t row_stride = between(1, 200);
    const uint8_t *const from = x + between(0, 9);
    const int32_t at = between(0, 5);
    memset(y, 0, sizeof y);
    reference_spread(y[0] + at, from, stride, apart, pixels, count, pitch, row_stride);
    tilewright_xpulpv2_spread(y[1] + at, from, stride, apart, pixels, count, pitch, row_stride);
    cases++;
    if (memcmp(y[0], y[1], Y_BYTES) != 0) {
        differences++;
    }
}

static void work(void *argument)
{
    (void)argument;
    for (int32_t i = 0; i < 40; i++) {
        fill_bytes();
        compare_sums(tilewright_xpulpv2_sums_signed, reference_sums_signed);
        compare_sums(tilewright_xpulpv2_sums_unsigned, reference_sums_unsigned);
        compare(tilewright_xpulpv2_folded_signed, reference_folded_signed, &tilewright_rule_folded);
        compare(tilewright_xpulpv2_folded_unsigned, reference_folded_unsigned,
                &tilewright_rule_folded);
        compare(tilewright_xpulpv2_layer_signed, reference_layer_signed, &tilewright_rule_layer);
        compare(tilewright_xpulpv2_layer_unsigned, reference_layer_unsigned,
                &tilewright_rule_layer);
        compare(tilewright_xpulpv2_high_signed, reference_high_signed, &tilewright_rule_high);
        compare(tilewright_xpulpv2_high_unsigned, reference_high_unsigned, &tilewright_rule_high);
        compare(tilewright_xpulpv2_away_signed, reference_away_signed, &tilewright_rule_away);
        compare(tilewright_xpulpv2_away_unsigned, reference_away_unsigned, &tilewright_rule_away);
        compare_spread();
        COMPARE_PLANES(plane, 1);
        COMPARE_PLANES(five, 0);
        COMPARE_PLANES(seven, 0);
        compare_vectors(tilewright_xpulpv2_vector_sums_signed, reference_vector_sums_signed, SUMS);
        compare_vectors(tilewright_xpulpv2_vector_sums_unsigned, reference_vector_sums_unsigned,
                        SUMS);
        compare_vectors(tilewright_xpulpv2_vector_folded_signed, reference_vector_folded_signed,
                        ELEMENTS);
        compare_vectors(tilewright_xpulpv2_vector_folded_unsigned, reference_vector_folded_unsigned,
                        ELEMENTS);
        compare_vectors(tilewright_xpulpv2_vector_layer_signed, reference_vector_layer_signed,
                        ELEMENTS);
        compare_vectors(tilewright_xpulpv2_vector_layer_unsigned, reference_vector_layer_unsigned,
                        ELEMENTS);
        compare_vectors(tilewright_xpulpv2_vector_high_signed, reference_vector_high_signed,
                        ELEMENTS);
        compare_vectors(tilewright_xpulpv2_vector_high_unsigned, reference_vector_high_unsigned,
                        ELEMENTS);
        compare_vectors(tilewright_xpulpv2_vector_away_signed, reference_vector_away_signed,
                        BOUNDED);
        compare_vectors(tilewright_xpulpv2_vector_away_unsigned, reference_vector_away_unsigned,
                        BOUNDED);
    }
}

int main(void)
{
    tilewright_fork(1, work, NULL);
    printf("%u of %u differ\n", (unsigned)differences, (unsigned)cases);
    return differences == 0u ? 0 : 1;
}
