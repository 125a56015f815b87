/* SPDX-License-Identifier: Apache-2.0 */
#include "tilewright/kernels/conv_walk.h"
#include "tilewright/kernels/gather_runs.h"

enum { X, WEIGHTS, ROWS, Y, SCRATCH };
enum { BATCH, CHANNEL, HEIGHT, WIDTH };
enum { PIXELS = TILEWRIGHT_RUN_PIXELS };
enum { BY_PRODUCTS = 1, AS_ONE_RUN }; /* who gathers taps */

/* Lists a tap, whose channels lie side by side, as one run. */
TILEWRIGHT_INLINE void list_tap(const struct tilewright_runs_conv *conv, struct tilewright_run *run,
                                const uint8_t *const *from, const int32_t *column, int32_t kw)
{
    const struct tilewright_shape *shape = conv->x->shape;
    const int32_t tap = kw * conv->attributes->dilations[1];
    for (int32_t p = 0; p < PIXELS; p++) {
        const int32_t inside =
            from[p] != NULL && (uint32_t)(column[p] + tap) < (uint32_t)shape->extent[WIDTH];
        run->pixel[p] =
            inside != 0 ? from[p] + (ptrdiff_t)tap * shape->stride[WIDTH] : conv->padding;
    }
    run->taps = conv->inputs;
}

/* Lists each tap of a row of the kernel that lies in x for all pixels. */
TILEWRIGHT_INLINE struct tilewright_run *list_inside(const struct tilewright_runs_conv *conv,
                                                     struct tilewright_run *run,
                                                     const uint8_t **from)
{
    const int32_t step = conv->attributes->dilations[1] * conv->x->shape->stride[WIDTH];
    for (int32_t left = conv->attributes->kernel[1]; left > 0; left--) {
        TILEWRIGHT_UNROLL_4
        for (int32_t p = 0; p < PIXELS; p++) {
            run->pixel[p] = from[p];
            from[p] += step;
        }
        run->taps = conv->inputs;
        run++;
    }
    return run;
}

/* Lists the runs of all taps; `offset` is the bytes to the pixels' image and group in x. Returns
 * the end of the list. */
static struct tilewright_run *list_runs(const struct tilewright_runs_conv *conv,
                                        const struct tilewright_runs_pixels *pixels,
                                        ptrdiff_t offset)
{
    const struct tilewright_conv_runs_attributes *a = conv->attributes;
    const struct tilewright_shape *shape = conv->x->shape;
    struct tilewright_run *run = conv->runs;
    int32_t inside = PIXELS;

    for (int32_t p = 0; p < PIXELS; p++) {
        inside = (uint32_t)pixels->column[p] < (uint32_t)conv->inside ? inside : 0;
    }
    for (int32_t kh = 0; kh < a->kernel[0]; kh++) {
        const uint8_t *from[PIXELS];
        int32_t rows = 0;
        for (int32_t p = 0; p < PIXELS; p++) {
            const int32_t row = pixels->row[p] + kh * a->dilations[0];
            from[p] = NULL;
            if ((uint32_t)(row - shape->origin[HEIGHT]) < (uint32_t)shape->extent[HEIGHT]) {
                from[p] = tilewright_row(conv->x, HEIGHT, row) + offset +
                          (ptrdiff_t)pixels->column[p] * shape->stride[WIDTH];
                rows++;
            }
        }
        if (rows == inside && rows != 0 && conv->row_taps != 0) {
            for (int32_t p = 0; p < PIXELS; p++) {
                run->pixel[p] = from[p];
            }
            run->taps = conv->row_taps;
            run++;
            continue;
        }
        if (rows == inside && rows != 0) {
            run = list_inside(conv, run, from);
            continue;
        }
        for (int32_t kw = 0; kw < a->kernel[1]; kw++) {
            list_tap(conv, run, from, pixels->column, kw);
            run++;
        }
    }
    return run;
}

/* The tile's next pixel. */
struct cursor {
    int32_t row, column; /* of its first tap in x, as in struct tilewright_runs_pixels */
    uint8_t *at;         /* where its results go */
    int32_t left;        /* pixels of its line, this one included */
    int32_t line;        /* of y */
};

/* Goes to the first pixel of a line of y; `offset` is the bytes to the image and channels in y. */
static TILEWRIGHT_NOINLINE void begin_line(const struct tilewright_runs_conv *conv,
                                           const struct tilewright_view *y, ptrdiff_t offset,
                                           int32_t line, struct cursor *cursor)
{
    const struct tilewright_conv_runs_attributes *a = conv->attributes;
    const struct tilewright_shape *out = y->shape;
    if (line == out->origin[HEIGHT] + out->extent[HEIGHT]) {
        cursor->left = 1; /* behind the last pixel stands that pixel again */
        return;
    }
    cursor->row = line * a->strides[0] - a->pads[0];
    cursor->column =
        out->origin[WIDTH] * a->strides[1] - a->pads[1] - conv->x->shape->origin[WIDTH];
    cursor->at = tilewright_row(y, HEIGHT, line) + offset;
    cursor->left = out->extent[WIDTH];
    cursor->line = line;
}

/* Sets the positions in x and the addresses of results of the tile's next pixels. Pixels that reach
 * behind the last one compute that pixel again, which needs no extra code. */
TILEWRIGHT_INLINE void advance(const struct tilewright_runs_conv *conv,
                               const struct tilewright_view *y, ptrdiff_t offset,
                               struct cursor *cursor, struct tilewright_runs_pixels *pixels,
                               struct tilewright_runs_job *job)
{
    const int32_t stride = conv->attributes->strides[1], across = y->shape->stride[WIDTH];
    TILEWRIGHT_UNROLL_4
    for (int32_t p = 0; p < PIXELS; p++) {
        pixels->row[p] = cursor->row;
        pixels->column[p] = cursor->column;
        job->pixel[p] = cursor->at;
        if (p + 1 >= job->pixels && p + 1 < PIXELS) {
            continue; /* the pixels that are left are not multiplied */
        }
        if (cursor->left > 1) {
            cursor->left--;
            cursor->column += stride;
            cursor->at += across;
        } else {
            begin_line(conv, y, offset, cursor->line + 1, cursor);
        }
    }
}

static struct tilewright_runs_conv prepare(const struct tilewright_conv_runs_attributes *a,
                                           const struct tilewright_view *operands)
{
    const struct tilewright_shape *shape = operands[X].shape;
    uint8_t *const padding = operands[SCRATCH].base + a->padding_at;
    const int32_t reach = (a->kernel[1] - 1) * a->dilations[1];
    struct tilewright_runs_conv conv = {.attributes = a,
                                        .x = &operands[X],
                                        .runs =
                                            (struct tilewright_run *)(void *)operands[SCRATCH].base,
                                        .padding = padding,
                                        .inputs = a->group_inputs,
                                        .inside = shape->extent[WIDTH] - reach};
    const int32_t is_beside = conv.inputs == 1 || shape->stride[CHANNEL] == 1;
    const int32_t is_dense = a->dilations[1] == 1 && shape->stride[WIDTH] == conv.inputs;
    if (a->is_depthwise == 0 && is_beside != 0 && (a->kernel[1] == 1 || is_dense != 0)) {
        conv.row_taps = a->kernel[1] * conv.inputs;
    }
    conv.inside = conv.inside < 0 ? 0 : conv.inside;
    if (a->gathers != 0) {
        tilewright_prepare_gather(&conv);
    }
    if (a->gathers == AS_ONE_RUN) {
        for (int32_t p = 0; p < PIXELS; p++) {
            conv.runs->pixel[p] = operands[SCRATCH].base + a->gathered_at + p * a->taps;
        }
        conv.runs->taps = a->taps;
    }
    if (a->padding >= 0 && a->gathers == 0) {
        const int32_t held = a->is_depthwise != 0 ? shape->extent[CHANNEL] : conv.inputs;
        for (int32_t i = 0; i < held; i++) {
            padding[i] = (uint8_t)a->padding;
        }
    }
    return conv;
}

/* Finishes the sums of a block by the rule's function in C. */
static void finish_sums(const struct tilewright_conv_runs_attributes *a,
                        const struct tilewright_runs_job *job, const int32_t *sums,
                        uint8_t *const *pixel)
{
    struct tilewright_sink sink;
    sink.channel_stride = job->channel_stride;
    sink.pixels = 1;
    sink.row_words = a->row_words;
    sink.limits = job->limits;
    for (int32_t p = 0; p < job->pixels; p++) {
        sink.pixel[0] = pixel[p];
        sink.pixel[1] = sink.pixel[2] = sink.pixel[3] = pixel[p];
        a->finish(&sink, sums + p * job->channels, job->rows, job->channels);
    }
}

/* Computes `channels` channels of the job's pixels, a block after the other. */
static void blocks(const struct tilewright_conv_runs_attributes *a, struct tilewright_runs_job *job,
                   const uint8_t *weights, const int32_t *rows, int32_t channels, int32_t *sums)
{
    job->weights = weights;
    job->rows = rows;
    job->offset = 0;
    for (int32_t left = channels; left > 0; left -= a->block) {
        uint8_t *const pixel[PIXELS] = {job->pixel[0], job->pixel[1], job->pixel[2]};
        job->channels = tilewright_smaller(left, a->block);
        job->sums = sums;
        a->products(job);
        if (a->finish != NULL) {
            finish_sums(a, job, sums, pixel);
        }
        for (int32_t p = 0; p < PIXELS; p++) {
            job->pixel[p] = pixel[p] + (ptrdiff_t)job->channels * job->channel_stride;
        }
        job->rows += job->channels * a->row_words;
        job->weights += job->channels * a->taps;
        job->offset += job->channels;
    }
}

void tilewright_conv_runs(const struct tilewright_conv_runs_attributes *a,
                          const struct tilewright_view *operands, uint32_t flags)
{
    const struct tilewright_runs_conv conv = prepare(a, operands);
    const struct tilewright_shape *in = operands[X].shape;
    const struct tilewright_view *y = &operands[Y];
    const struct tilewright_shape *out = y->shape;
    /* A tile has some groups with all their channels, or some channels of one group. */
    const int32_t channels = tilewright_smaller(out->extent[CHANNEL], a->group_outputs);
    const int32_t count = out->extent[HEIGHT] * out->extent[WIDTH];
    struct tilewright_runs_job job;

    (void)flags;
    job.runs = conv.runs;
    job.runs_end = conv.runs + 1;
    job.row_bytes = 4 * a->row_words;
    job.channel_stride = out->stride[CHANNEL] == 0 ? 1 : out->stride[CHANNEL];
    job.pixels = count == 1 ? 1 : a->pixels;
    job.limits = TILEWRIGHT_LIMITS(a);
    job.finished = a->finished;
    job.biased = a->biased;
    job.gathered = operands[SCRATCH].base + a->gathered_at;
    job.taps = a->taps;
    for (int32_t n = 0; n < out->extent[BATCH]; n++) {
        const uint8_t *weights = operands[WEIGHTS].base;
        const int32_t *rows = (const int32_t *)(const void *)operands[ROWS].base;
        struct tilewright_group group = tilewright_first_group(in, out, n);

        for (int32_t done = 0; done < out->extent[CHANNEL]; done += channels) {
            struct cursor cursor;
            begin_line(&conv, y, group.out, out->origin[HEIGHT], &cursor);
            for (int32_t pixel = 0; pixel < count; pixel += job.pixels) {
                struct tilewright_runs_pixels pixels;
                advance(&conv, y, group.out, &cursor, &pixels, &job);
                const struct tilewright_gather gather = {&conv, &pixels, group.in};
                job.gather = &gather;
                if (a->gathers == 0) {
                    job.runs_end = list_runs(&conv, &pixels, group.in);
                } else if (a->gathers == AS_ONE_RUN) {
                    tilewright_gather_pixels(&job, 0, job.pixels, job.gathered, a->taps, 0u);
                }
                blocks(a, &job, weights, rows, channels,
                       (int32_t *)(void *)(operands[SCRATCH].base + a->sums_at));
            }
            weights += (ptrdiff_t)channels * a->taps;
            rows += (ptrdiff_t)channels * a->row_words;
            tilewright_next_group(&group, in, a->group_inputs, out, channels);
        }
    }
}
