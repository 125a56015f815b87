"""Floats where library functions compute them: comparisons by bits, and sums of products, against the core's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.firmware import needs_host_compiler
from tilewright.base.resources import runtime_dir

PROGRAM = """
#define TILEWRIGHT_SOFT_FLOATS 1
#include "tilewright/kernels/float_math.h"

#include <stdio.h>
#include <string.h>

static float number(uint32_t word)
{
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static int differ(float one, float other)
{
    return one == one ? !(one == other) : other == other;
}

int main(void)
{
    static const uint32_t special[] = {0u, 0x80000000u, 1u, 0x80000001u, 0x7f7fffffu, 0xff7fffffu,
                                       0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00001u};
    uint32_t state = 1;
    unsigned differing = 0;
    for (int32_t i = 0; i < 400000; i++) {
        float values[3];
        for (int32_t k = 0; k < 3; k++) {
            state = state * 1664525u + 1013904223u;
            const uint32_t drawn = state >> 8;
            values[k] = number(drawn % 4u == 0u ? special[drawn / 4u % 10u] : state ^ state << 13);
        }
        const float a = values[0], b = values[1], c = values[2];
        differing += (unsigned)(tilewright_float_less(a, b) != (a < b));
        differing += (unsigned)(tilewright_float_at_most(a, b) != (a <= b));
        differing += (unsigned)(tilewright_float_is_nan(a) != (a != a));
        differing += (unsigned)differ(tilewright_clamp(a, b, c), a < b ? (c < b ? c : b) : (c < a ? c : a));
        if (a == a && b == b) {
            differing += (unsigned)differ(tilewright_float_smaller(a, b), b < a ? b : a);
            differing += (unsigned)differ(tilewright_float_larger(a, b), b > a ? b : a);
        }
    }
    printf("%u\\n", differing);
    return 0;
}
"""


PRODUCTS = """
#include "tilewright/kernels/soft_float.h"

#include <stdio.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint32_t drawn(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static float number(uint32_t word)
{
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static uint32_t bits(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

int main(void)
{
    static const uint32_t special[] = {0u, 0x80000000u, 1u, 0x80000001u, 0x7f7fffffu, 0x7f800000u, 0xff800000u,
                                       0x7fc00000u, 0x00800000u, 0x80800000u, 0x3f800000u, 0x007fffffu};
    unsigned differing = 0;
    for (int32_t i = 0; i < 4000000; i++) {
        const uint32_t kind = drawn() & 7u;
        uint32_t w[3];
        for (int32_t k = 0; k < 3; k++) {
            w[k] = drawn();
            if (kind < 5u) {
                /* Numbers of like sizes, so that products and sums meet. */
                w[k] = (w[k] & 0x807fffffu) | (115u + drawn() % 25u) << 23;
            } else if (kind == 5u && drawn() % 3u == 0u) {
                w[k] = special[drawn() % 12u];
            }
        }
        if (kind == 3u) {
            /* Few digits: exact products, and ties. */
            w[0] &= 0xffffff00u << drawn() % 12u;
            w[1] &= 0xffffff00u << drawn() % 12u;
        }
        volatile float product = number(w[0]) * number(w[1]);
        if (kind == 2u) {
            /* Sums that are nearly 0. */
            w[2] = (bits(product) ^ 0x80000000u) + drawn() % 9u - 4u;
        }
        const volatile float wanted = product + number(w[2]);
        const float got = tilewright_soft_multiply_add(number(w[0]), number(w[1]), number(w[2]));
        differing += bits(got) != bits(wanted) && (got == got || wanted == wanted);
    }
    printf("%u\\n", differing);
    return 0;
}
"""


def differing(
    folder: Path, spoilt: tuple[str, str] = ("", ""), program: str = PROGRAM, of: str = "float_math.h"
) -> int:
    """How many results differ from the core's own, where a text of header ``of`` is replaced by another one."""
    header = folder / "tilewright" / "kernels" / of
    header.parent.mkdir(parents=True)
    text = (runtime_dir() / "include/tilewright/kernels" / of).read_text(encoding="utf-8")
    assert spoilt[0] in text
    header.write_text(text.replace(*spoilt) if spoilt[0] else text, encoding="utf-8")
    (folder / "main.c").write_text(program, encoding="utf-8")
    command = ["gcc", "-std=c11", "-O2", "-ffp-contract=off", "-Wall", "-Werror"]
    command += [f"-I{folder}", f"-I{runtime_dir() / 'include'}"]
    subprocess.run([*command, str(folder / "main.c"), "-lm", "-o", str(folder / "main")], check=True)
    return int(subprocess.run([str(folder / "main")], check=True, capture_output=True, text=True).stdout)


@needs_host_compiler
def test_bits_are_compared_as_numbers_are(tmp_path: Path) -> None:
    assert differing(tmp_path) == 0


@needs_host_compiler
@pytest.mark.parametrize(
    "spoilt",
    [("0x80000000u - word : word", "word : word"), ("> 0x7f800000u", "> 0x7fffffffu")],
    ids=["the order below zero", "NaN"],
)
def test_wrong_comparisons_are_seen(spoilt: tuple[str, str], tmp_path: Path) -> None:
    assert differing(tmp_path, spoilt) > 0


@needs_host_compiler
def test_sums_of_products_have_the_bits_of_two_roundings(tmp_path: Path) -> None:
    assert differing(tmp_path, program=PRODUCTS, of="soft_float.h") == 0


@needs_host_compiler
@pytest.mark.parametrize(
    "spoilt",
    [
        ("+ (kept & 1u)", "+ 1u"),
        ("digits |= (uint32_t)product != 0u;", ""),
        ("| (next >> by << by != next)", ""),
        ("| (digits & 1u)", ""),
        ("distance < 31u ? distance : 31u", "distance & 31u"),
        ("? c : a * b + c", "? c : c"),
    ],
    ids=["a tie", "digits of the product", "digits of a summand", "digits of the sum", "far numbers", "rare numbers"],
)
def test_a_wrong_rounding_is_seen(spoilt: tuple[str, str], tmp_path: Path) -> None:
    assert differing(tmp_path, spoilt, PRODUCTS, "soft_float.h") > 0
