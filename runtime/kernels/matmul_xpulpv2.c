/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/declarations.h"

#include "tilewright/kernels/xpulpv2_taps.h"

enum { A, B, ROWS, Y, SCRATCH };
enum { BATCH_0, BATCH_1, MAJOR, MINOR };

/* The matrix of one batch: its first element, and bytes to the next one along each axis. `ring` is
 * 0, or the number of rows after which the rows begin anew at `first`; the tile's row 0 is row
 * `origin` of the tensor. */
struct matrix {
    uint8_t *first;
    int32_t major, minor;
    int32_t ring, origin;
};

/* One call, at the beginning of scratch. Attributes and shapes may lie in slow memory, and a core's
 * stack is short, so the numbers that loops need are copied there. The core walks over a row of a
 * once for the columns of b, and again for b's zero point if there is one. */
struct product {
    struct matrix a, b, y;
    int32_t a_zero_point, b_zero_point;
    uint32_t flip;           /* 0x80 in each byte if b is uint8 */
    int32_t taps, row_bytes; /* of a row of a, and rounded up to words */
    int32_t rows, columns;   /* of y */
    const int32_t *constants;
    uint8_t *weights;
    int32_t *packed_rows;
    uint8_t *slots; /* four copied rows of a; NULL: the core reads them where they lie */
    struct tilewright_xpulpv2_run runs[2];
};

_Static_assert(sizeof(struct product) <= TILEWRIGHT_MATMUL_XPULPV2_PLAIN_BYTES +
                                             TILEWRIGHT_MATMUL_XPULPV2_POINTERS * sizeof(void *),
               "scratch has room for it");

static uint8_t *at(const struct matrix *matrix, int32_t major, int32_t minor)
{
    const int32_t row = matrix->ring != 0 ? (matrix->origin + major) % matrix->ring : major;
    return matrix->first + (ptrdiff_t)row * matrix->major + (ptrdiff_t)minor * matrix->minor;
}

/* Packs `taps` bytes that are `stride` apart as the taps of one column, [word][4 columns][4 bytes].
 */
static void pack_column(uint8_t *to, const uint8_t *from, int32_t stride, int32_t taps,
                        uint32_t flip)
{
    int32_t k = 0;
    if (stride == 1) {
        for (; k + 4 <= taps; k += 4) {
            tilewright_xpulpv2_put(to, tilewright_xpulpv2_word(from) ^ flip);
            from += 4;
            to += 16;
        }
    }
    for (; k < taps; k++) {
        to[k & 3] = (uint8_t)(*from ^ (uint8_t)flip);
        from += stride;
        to += (k & 3) == 3 ? 16 : 0;
    }
}

/* Packs all whole words of four columns that lie side by side in each row of b. */
static void pack_words(uint8_t *to, const uint8_t *from, int32_t stride, int32_t taps,
                       uint32_t flip)
{
    const uint32_t even = 0x00ff00ffu;
    for (int32_t k = 0; k + 4 <= taps; k += 4) {
        const uint32_t w0 = tilewright_xpulpv2_word(from) ^ flip;
        const uint32_t w1 = tilewright_xpulpv2_word(from + stride) ^ flip;
        const uint32_t w2 = tilewright_xpulpv2_word(from + 2 * stride) ^ flip;
        const uint32_t w3 = tilewright_xpulpv2_word(from + 3 * stride) ^ flip;
        const uint32_t low_even = (w0 & even) | (w1 & even) << 8;
        const uint32_t low_odd = (w0 >> 8 & even) | (w1 & ~even);
        const uint32_t high_even = (w2 & even) | (w3 & even) << 8;
        const uint32_t high_odd = (w2 >> 8 & even) | (w3 & ~even);
        tilewright_xpulpv2_put(to, (low_even & 0xffffu) | high_even << 16);
        tilewright_xpulpv2_put(to + 4, (low_odd & 0xffffu) | high_odd << 16);
        tilewright_xpulpv2_put(to + 8, low_even >> 16 | (high_even & 0xffff0000u));
        tilewright_xpulpv2_put(to + 12, low_odd >> 16 | (high_odd & 0xffff0000u));
        from += 4 * stride;
        to += 16;
    }
}

/* Writes the weights that subtract b's zero point behind those of four columns, and zeros behind
 * the last tap of both. */
static void fill(const struct product *p, uint8_t *weights)
{
    const int32_t bytes = TILEWRIGHT_BLOCK * p->row_bytes;
    const uint32_t zero = (uint8_t)-p->b_zero_point * 0x01010101u;
    for (int32_t i = 0; zero != 0 && i < bytes; i += 4) {
        tilewright_xpulpv2_put(weights + bytes + i, zero);
    }
    for (int32_t i = bytes - 16; (p->taps & 3) != 0 && i < bytes; i += 4) {
        tilewright_xpulpv2_put(weights + i, 0);
        if (zero != 0) {
            tilewright_xpulpv2_put(weights + bytes + i, zero & ((1u << 8 * (p->taps & 3)) - 1));
        }
    }
}

/* Packs the columns from n on, `columns` of four. Columns behind the last one are packed as that
 * one; their results are not stored. */
static void pack(const struct product *p, uint8_t *weights, int32_t n, int32_t columns)
{
    const struct matrix *b = &p->b;
    int32_t packed = 0;

    fill(p, weights);
    if (b->minor == 1 && columns == TILEWRIGHT_BLOCK) {
        pack_words(weights, at(b, 0, n), b->major, p->taps, p->flip);
        packed = p->taps & ~3;
    }
    for (int32_t c = 0; packed < p->taps && c < TILEWRIGHT_BLOCK; c++) {
        const int32_t column = n + tilewright_smaller(c, columns - 1);
        pack_column(weights + 4 * packed + 4 * c, at(b, packed, column), b->major, p->taps - packed,
                    p->flip);
    }
}

/* Subtracts what a's zero point adds to the products of four packed columns: from the bias, or,
 * where the rule has none, from the addend, which contains the bias times the multiplier. */
static void subtract(const struct product *p, const struct tilewright_rule *rule,
                     const uint8_t *weights, int32_t *rows)
{
    for (int32_t c = 0; c < TILEWRIGHT_BLOCK; c++) {
        int32_t sum = -p->b_zero_point * p->taps;
        for (int32_t k = 0; k < p->row_bytes; k += 4) {
            const int8_t *word = (const int8_t *)weights + 4 * k + 4 * c;
            sum += word[0] + word[1] + word[2] + word[3];
        }
        const uint32_t less = (uint32_t)(p->a_zero_point * sum);
        if (rule->biased != 0) {
            *rows = (int32_t)((uint32_t)*rows - less);
        } else {
            rows[1] = (int32_t)((uint32_t)rows[1] - less * (uint32_t)rows[0]);
        }
        rows += rule->row_words;
    }
}

/* Packs b as weights, with the constants of its columns. */
static void pack_all(const struct product *p, const struct tilewright_rule *rule)
{
    const int32_t row_words = TILEWRIGHT_BLOCK * rule->row_words;
    const int32_t *constants = p->constants;
    uint8_t *weights = p->weights;
    int32_t *rows = p->packed_rows;
    const int32_t bytes = (p->b_zero_point != 0 ? 2 : 1) * TILEWRIGHT_BLOCK * p->row_bytes;

    for (int32_t n = 0; n < p->columns; n += TILEWRIGHT_BLOCK) {
        pack(p, weights, n, tilewright_smaller(p->columns - n, TILEWRIGHT_BLOCK));
        for (int32_t i = 0; i < row_words; i++) {
            rows[i] = *constants++;
        }
        if (p->a_zero_point != 0) {
            subtract(p, rule, weights, rows);
        }
        weights += bytes;
        rows += row_words;
    }
}

/* Copies a row of a. */
static void copy_row(const struct product *p, uint8_t *to, const uint8_t *from)
{
    const int32_t words = p->a.minor == 1 ? p->taps & ~3 : 0;
    tilewright_xpulpv2_copy_words(to, from, words);
    tilewright_xpulpv2_copy_bytes(to + words, from + words, p->a.minor, p->taps - words);
}

/* Multiplies all rows of a by the packed columns. */
static void multiply(struct product *p, struct tilewright_xpulpv2_job *job)
{
    const int together =
        p->slots == NULL && p->a.ring == 0 && p->y.ring == 0 && tilewright_xpulpv2_finishes(job);

    for (int32_t m = 0; m < p->rows;) {
        const int32_t left = p->rows - m;
        const int32_t fours = together && left >= TILEWRIGHT_BLOCK ? left / TILEWRIGHT_BLOCK : 1;
        uint8_t *slot = p->slots;
        for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
            const int32_t row = tilewright_smaller(m + i, p->rows - 1);
            const uint8_t *taps = at(&p->a, row, 0);
            if (slot != NULL) {
                copy_row(p, slot, taps);
                taps = slot;
                slot += p->row_bytes;
            }
            p->runs[0].pixel[i] = taps;
            p->runs[1].pixel[i] = taps;
            job->sink.pixel[i] = at(&p->y, row, 0);
        }
        tilewright_xpulpv2_core(job, fours);
        m += TILEWRIGHT_BLOCK * fours;
    }
}

static void take(struct matrix *matrix, const struct tilewright_view *view)
{
    matrix->major = view->shape->stride[MAJOR];
    matrix->minor = view->shape->stride[MINOR];
    matrix->ring = view->shape->ring_axis == MAJOR ? view->shape->ring_rows : 0;
    matrix->origin = view->shape->origin[MAJOR];
}

static TILEWRIGHT_NOINLINE void begin(struct product *p, struct tilewright_xpulpv2_job *job,
                                      const struct tilewright_matmul_xpulpv2_attributes *a,
                                      const struct tilewright_view *operands, uint32_t flags)
{
    take(&p->a, &operands[A]);
    take(&p->b, &operands[B]);
    take(&p->y, &operands[Y]);
    p->a_zero_point = a->a_zero_point;
    p->b_zero_point = a->b_zero_point;
    p->flip = a->b_is_unsigned != 0 ? 0x80808080u : 0;
    p->taps = operands[A].shape->extent[MINOR];
    p->row_bytes = (p->taps + 3) & ~3;
    p->rows = operands[Y].shape->extent[MAJOR];
    p->columns = operands[Y].shape->extent[MINOR];
    p->constants = (const int32_t *)(const void *)operands[ROWS].base;
    p->weights = operands[SCRATCH].base + a->weights_at;
    p->packed_rows = (int32_t *)(void *)(operands[SCRATCH].base + a->rows_at);
    p->slots = a->is_direct != 0 ? NULL : operands[SCRATCH].base + a->taps_at;
    tilewright_xpulpv2_finish_by(job, a->finish, a->finished, a->row_words);
    tilewright_open(&job->sink, &job->rule, p->y.minor, TILEWRIGHT_BLOCK, NULL, flags);
    job->sink.limits = TILEWRIGHT_LIMITS(a);
    tilewright_xpulpv2_open(job, p->runs, a->is_unsigned, flags);
    job->runs_end = p->runs + (a->b_zero_point != 0 ? 2 : 1);
    job->run_words = p->row_bytes / 4;
    p->runs[0].step = (uintptr_t)(intptr_t)(TILEWRIGHT_BLOCK * p->a.major);
    p->runs[1].step = p->runs[0].step;
    tilewright_xpulpv2_channels(job, p->weights, p->packed_rows, p->columns, p->y.major);
    /* The bytes that fill a copied row up to a word meet weights of zero; they are written once, so
     * that no uninitialised byte is read. */
    for (int32_t i = 1; p->slots != NULL && i <= TILEWRIGHT_BLOCK; i++) {
        tilewright_xpulpv2_put(p->slots + i * p->row_bytes - 4, 0);
    }
}

static uint8_t *batch(const struct tilewright_view *view, int32_t b0, int32_t b1)
{
    return view->base + (ptrdiff_t)b0 * view->shape->stride[BATCH_0] +
           (ptrdiff_t)b1 * view->shape->stride[BATCH_1];
}

void tilewright_matmul_xpulpv2(const struct tilewright_matmul_xpulpv2_attributes *a,
                               const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_shape *out = operands[Y].shape;
    struct product *const p = (struct product *)(void *)operands[SCRATCH].base;
    struct tilewright_xpulpv2_job job;

    begin(p, &job, a, operands, flags);
    for (int32_t b0 = 0; b0 < out->extent[BATCH_0]; b0++) {
        for (int32_t b1 = 0; b1 < out->extent[BATCH_1]; b1++) {
            p->a.first = batch(&operands[A], b0, b1);
            p->b.first = batch(&operands[B], b0, b1);
            p->y.first = batch(&operands[Y], b0, b1);
            pack_all(p, &job.rule);
            multiply(p, &job);
        }
    }
}
