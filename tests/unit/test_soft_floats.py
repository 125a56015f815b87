"""Floats that are compared by their bits, as where library functions compute floats, against the core's comparisons."""

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


def differing(folder: Path, spoilt: tuple[str, str] = ("", "")) -> int:
    """How many results differ from those of the core's own comparisons."""
    header = folder / "tilewright" / "kernels" / "float_math.h"
    header.parent.mkdir(parents=True)
    text = (runtime_dir() / "include/tilewright/kernels/float_math.h").read_text(encoding="utf-8")
    assert spoilt[0] in text
    header.write_text(text.replace(*spoilt) if spoilt[0] else text, encoding="utf-8")
    (folder / "main.c").write_text(PROGRAM, encoding="utf-8")
    command = ["gcc", "-std=c11", "-O2", "-Wall", "-Werror", f"-I{folder}", f"-I{runtime_dir() / 'include'}"]
    subprocess.run([*command, str(folder / "main.c"), "-lm", "-o", str(folder / "main")], check=True)
    return int(subprocess.run([str(folder / "main")], check=True, capture_output=True, text=True).stdout)


@needs_host_compiler
def test_bits_are_compared_as_numbers_are(tmp_path: Path) -> None:
    assert differing(tmp_path) == 0


@needs_host_compiler
@pytest.mark.parametrize(
    "spoilt",
    [("(0x80000000u - (uint32_t)value.word)", "((uint32_t)value.word)"), ("> 0x7f800000u", "> 0x7fffffffu")],
    ids=["the order below zero", "NaN"],
)
def test_wrong_comparisons_are_seen(spoilt: tuple[str, str], tmp_path: Path) -> None:
    assert differing(tmp_path, spoilt) > 0
