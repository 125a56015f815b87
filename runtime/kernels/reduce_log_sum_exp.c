/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "tilewright/kernels/reducer.h"

/* The first pass finds the largest element, so that no power overflows. */
static void begin(struct tilewright_reduction *s)
{
    s->real = 0.0f;
    s->index = 0;
}

static void line(struct tilewright_reduction *s, const uint8_t *at, int32_t stride, int32_t count)
{
    for (; count > 0; count--) {
        const float x = TILEWRIGHT_ELEMENT(float, at);
        if (s->pass != 0) {
            s->real += x == s->largest ? 1.0f : expf(x - s->largest);
        } else if (s->index++ == 0 || x > s->largest || x != x) {
            s->largest = x;
        }
        at += stride;
    }
}

static void end(const struct tilewright_reduction *s, uint8_t *y)
{
    *(float *)(void *)y = s->largest + logf(s->real);
}

const struct tilewright_reducer tilewright_reduce_log_sum_exp_f32 = {2, begin, line, end};
