/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of Zfinx that kernels use: floats in integer registers. They round to the
 * nearest, ties to even, but for a conversion that rounds towards zero. */
#include "operations.h"

#include <math.h>
#include <string.h>

#define RS1 number(hart->x[in->rs1])
#define RS2 number(hart->x[in->rs2])
#define RS3 number(hart->x[in->word >> 27 & 31u])
#define ACTION(name) static void name(struct hart *hart, const struct instruction *in)

static float number(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

/* A NaN that an instruction makes has always the same bits. */
static void set_number(struct hart *hart, const struct instruction *in, float x)
{
    uint32_t word = 0x7fc00000u;
    if (!isnan(x)) {
        memcpy(&word, &x, sizeof word);
    }
    set(hart, in->rd, word);
}

ACTION(add)
{
    set_number(hart, in, RS1 + RS2);
}

ACTION(subtract)
{
    set_number(hart, in, RS1 - RS2);
}

ACTION(multiply)
{
    set_number(hart, in, RS1 * RS2);
}

ACTION(divide)
{
    set_number(hart, in, RS1 / RS2);
}

/* Of a NaN and a number the number; -0 is below 0. */
ACTION(smaller)
{
    const float a = RS1;
    const float b = RS2;
    const float of_equal = signbit(b) ? b : a;
    set_number(hart, in, a == b ? of_equal : fminf(a, b));
}

ACTION(larger)
{
    const float a = RS1;
    const float b = RS2;
    const float of_equal = signbit(a) ? b : a;
    set_number(hart, in, a == b ? of_equal : fmaxf(a, b));
}

ACTION(root)
{
    set_number(hart, in, sqrtf(RS1));
}

ACTION(multiply_add)
{
    set_number(hart, in, fmaf(RS1, RS2, RS3));
}

ACTION(less)
{
    set(hart, in->rd, RS1 < RS2);
}

ACTION(at_most)
{
    set(hart, in->rd, RS1 <= RS2);
}

ACTION(equal)
{
    set(hart, in->rd, RS1 == RS2);
}

/* What is beyond an integer's range, and NaN as if it were above it, becomes the next one in it. */
static void set_signed(struct hart *hart, const struct instruction *in, float whole)
{
    int32_t result = INT32_MAX;
    if (whole < -0x1p31f) {
        result = INT32_MIN;
    } else if (whole < 0x1p31f) {
        result = (int32_t)whole;
    }
    set(hart, in->rd, (uint32_t)result);
}

ACTION(nearest)
{
    set_signed(hart, in, rintf(RS1));
}

ACTION(cut)
{
    set_signed(hart, in, truncf(RS1));
}

ACTION(cut_unsigned)
{
    const float whole = truncf(RS1);
    uint32_t result = UINT32_MAX;
    if (whole <= 0.0f) {
        result = 0u;
    } else if (whole < 0x1p32f) {
        result = (uint32_t)whole;
    }
    set(hart, in->rd, result);
}

ACTION(of_signed)
{
    set_number(hart, in, (float)(int32_t)hart->x[in->rs1]);
}

ACTION(of_unsigned)
{
    set_number(hart, in, (float)hart->x[in->rs1]);
}

const struct operation zfinx_operations[] = {
    {"fadd.s", "0000000 ----- ----- 000 ----- 1010011", FORMAT_R, add},
    {"fsub.s", "0000100 ----- ----- 000 ----- 1010011", FORMAT_R, subtract},
    {"fmul.s", "0001000 ----- ----- 000 ----- 1010011", FORMAT_R, multiply},
    {"fdiv.s", "0001100 ----- ----- 000 ----- 1010011", FORMAT_R, divide},
    {"fmin.s", "0010100 ----- ----- 000 ----- 1010011", FORMAT_R, smaller},
    {"fmax.s", "0010100 ----- ----- 001 ----- 1010011", FORMAT_R, larger},
    {"fsqrt.s", "0101100 00000 ----- 000 ----- 1010011", FORMAT_R, root},
    {"fmadd.s", "-----00 ----- ----- 000 ----- 1000011", FORMAT_R, multiply_add},
    {"fle.s", "1010000 ----- ----- 000 ----- 1010011", FORMAT_R, at_most},
    {"flt.s", "1010000 ----- ----- 001 ----- 1010011", FORMAT_R, less},
    {"feq.s", "1010000 ----- ----- 010 ----- 1010011", FORMAT_R, equal},
    {"fcvt.w.s rne", "1100000 00000 ----- 000 ----- 1010011", FORMAT_R, nearest},
    {"fcvt.w.s rtz", "1100000 00000 ----- 001 ----- 1010011", FORMAT_R, cut},
    {"fcvt.wu.s rtz", "1100000 00001 ----- 001 ----- 1010011", FORMAT_R, cut_unsigned},
    {"fcvt.s.w", "1101000 00000 ----- 000 ----- 1010011", FORMAT_R, of_signed},
    {"fcvt.s.wu", "1101000 00001 ----- 000 ----- 1010011", FORMAT_R, of_unsigned},
};
const uint32_t zfinx_operation_count = sizeof zfinx_operations / sizeof zfinx_operations[0];
