/* SPDX-License-Identifier: Apache-2.0 */
/* The words of x that convolutions of family xpulpv2 multiply for four pixels of y: read where they
 * lie in x, or copied side by side into scratch. Only for kernels. */
#ifndef TILEWRIGHT_KERNELS_XPULPV2_TAPS_H
#define TILEWRIGHT_KERNELS_XPULPV2_TAPS_H

#include "tilewright/kernels/xpulpv2_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes at the start of scratch for struct tilewright_xpulpv2_taps, with pointers of any size;
 * tables and copies follow. */
#define TILEWRIGHT_XPULPV2_TAPS_BYTES                                                              \
    (TILEWRIGHT_XPULPV2_TAPS_PLAIN_BYTES + TILEWRIGHT_XPULPV2_TAPS_POINTERS * sizeof(void *))

enum tilewright_xpulpv2_way {
    TILEWRIGHT_XPULPV2_COPIED, /* taps of a pixel are copied as [kh][kw][c] */
    TILEWRIGHT_XPULPV2_PLANAR, /* copied as [c][kh][kw], a row of the kernel in whole words, from
                                * padded planes of x, which are copied first */
    TILEWRIGHT_XPULPV2_DIRECT, /* each tap is read where it lies in x */
    TILEWRIGHT_XPULPV2_DENSE   /* as DIRECT; the taps of a row of the kernel lie side by side */
};

/* One call. Attributes and shapes may lie in slow memory, and a core's stack is short, so the
 * numbers that loops need are copied to scratch. */
struct tilewright_xpulpv2_taps {
    const struct tilewright_view *x;
    const uint8_t **x_rows_at; /* for each row of the kernel its row of x; NULL: beyond x */
    uint8_t *padding_row;      /* the padding that a row of the kernel reads beyond x; or planes */
    int16_t kernel[2], strides[2], dilations[2];
    int32_t first_row, first_column; /* of x, for row and column 0 of y; columns from the tile's */
    int32_t x_row, x_rows, x_columns;
    int32_t x_stride,
        x_channel_stride; /* to the next column and channel; in planes: row, channel */
    int32_t y_columns, y_last_row;
    int32_t y_stride;
    int32_t inputs;     /* channels of x in one group, or in the tile if the reduction is cut */
    int32_t run_bytes;  /* bytes of one row of the kernel; planar: rounded up to words */
    int32_t slot_bytes; /* bytes of all taps of a pixel, rounded up to words */
    uint8_t most;       /* the number of pixels / 4 that are copied at once */
    uint8_t way;        /* enum tilewright_xpulpv2_way */
    uint8_t has_padding;
};

/* The table of runs behind the struct: one run for each tap if taps are read in x, else one run. */
TILEWRIGHT_INLINE struct tilewright_xpulpv2_run *
tilewright_xpulpv2_runs(const struct tilewright_xpulpv2_taps *taps)
{
    return (struct tilewright_xpulpv2_run *)((uintptr_t)taps + TILEWRIGHT_XPULPV2_TAPS_BYTES);
}

/* The copied taps of four pixels, or of several times four pixels, behind the row of padding or the
 * planes. */
TILEWRIGHT_INLINE uint8_t *tilewright_xpulpv2_slots(const struct tilewright_xpulpv2_taps *taps)
{
    if (taps->way == TILEWRIGHT_XPULPV2_PLANAR) {
        return taps->padding_row + taps->inputs * taps->x_channel_stride;
    }
    const int32_t inputs = taps->way == TILEWRIGHT_XPULPV2_COPIED ? taps->inputs : taps->run_bytes;
    return taps->padding_row + (taps->has_padding != 0 ? (inputs + 3) & ~3 : 0);
}

/* Makes the copied taps of four pixels the job's only run. */
TILEWRIGHT_INLINE void tilewright_xpulpv2_take_slots(const struct tilewright_xpulpv2_taps *taps,
                                                     struct tilewright_xpulpv2_job *job)
{
    struct tilewright_xpulpv2_run *const run = tilewright_xpulpv2_runs(taps);
    uint8_t *slot = tilewright_xpulpv2_slots(taps);
    for (int32_t i = 0; i < TILEWRIGHT_BLOCK; i++) {
        run->pixel[i] = slot;
        slot += taps->slot_bytes;
    }
    job->runs_end = job->runs + 1;
    job->run_words = taps->slot_bytes / 4;
}

/* The next pixel of y to compute. */
struct tilewright_xpulpv2_place {
    int32_t row, column;
    uint8_t *at;
    ptrdiff_t offset_in, offset_out; /* to the image and group */
};

/* Copies the image and group of x where `place` is into the planes, whose padding was written once.
 */
void tilewright_xpulpv2_planes(const struct tilewright_xpulpv2_taps *taps,
                               const struct tilewright_view *y,
                               const struct tilewright_xpulpv2_place *place);

/* Copy the taps of a pixel as [c][kh][kw] from planes, in which `from` is the first; of four pixels
 * for rows of the kernel of one or two words. The next row overwrites the bytes behind a row's end;
 * those behind the last row meet weights of zero. */
void tilewright_xpulpv2_copy_pixel(const struct tilewright_xpulpv2_taps *taps, uint8_t *slot,
                                   const uint8_t *from);
void tilewright_xpulpv2_copy_four(const struct tilewright_xpulpv2_taps *taps, uint8_t *slot,
                                  const uint8_t *const *from);

/* Moves `place` to the first pixel of the next row of y. */
void tilewright_xpulpv2_next_row(const struct tilewright_xpulpv2_taps *taps,
                                 const struct tilewright_view *y,
                                 struct tilewright_xpulpv2_place *place);

/* Moves `place` to the next pixel; it stays at the last. */
void tilewright_xpulpv2_next_pixel(const struct tilewright_xpulpv2_taps *taps,
                                   const struct tilewright_view *y,
                                   struct tilewright_xpulpv2_place *place);

/* Sets the job's runs and result addresses for the next pixels of the tile. Returns the number of
 * pixels / 4: up to `most` if the core can read all their taps in x, else 1. A block that reaches
 * behind the last pixel computes that pixel again, which needs no extra code. */
int32_t tilewright_xpulpv2_advance(const struct tilewright_xpulpv2_taps *taps,
                                   const struct tilewright_view *y, int32_t most,
                                   struct tilewright_xpulpv2_place *place,
                                   struct tilewright_xpulpv2_job *job);

/* The same for four pixels whose taps are copied from x. */
void tilewright_xpulpv2_advance_copied(const struct tilewright_xpulpv2_taps *taps,
                                       const struct tilewright_view *y,
                                       struct tilewright_xpulpv2_place *place,
                                       struct tilewright_xpulpv2_job *job);

/* The same for taps that are copied from planes, up to `most` times four pixels where all their
 * results are equally far apart. */
int32_t tilewright_xpulpv2_advance_planes(const struct tilewright_xpulpv2_taps *taps,
                                          const struct tilewright_view *y, int32_t most,
                                          struct tilewright_xpulpv2_place *place,
                                          struct tilewright_xpulpv2_job *job);

/* Copies `bytes` bytes, which are whole words, from and to any address. */
TILEWRIGHT_INLINE void tilewright_xpulpv2_copy_words(uint8_t *to, const uint8_t *from,
                                                     int32_t bytes)
{
    for (; bytes > 0; bytes -= 4) {
        tilewright_xpulpv2_put(to, tilewright_xpulpv2_word(from));
        to += 4;
        from += 4;
    }
}

/* Copies `count` bytes that are `stride` apart to bytes side by side. */
TILEWRIGHT_INLINE void tilewright_xpulpv2_copy_bytes(uint8_t *to, const uint8_t *from,
                                                     int32_t stride, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = *from;
        from += stride;
    }
}

#ifdef __cplusplus
}
#endif

#endif
