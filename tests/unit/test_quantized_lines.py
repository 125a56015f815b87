"""Lines that are quantised at run time: by the bits of floats, as where library functions compute, and by floats."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.firmware import needs_host_compiler
from tilewright.base.resources import runtime_dir

FUNCTIONS = ("i8", "i16")

PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void line(uint8_t *const *, const int32_t *, const int32_t *, const void *);
line fast_i8, bits_i8, fast_i16, bits_i16;

static uint32_t state = 1;

static uint32_t drawn(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static float number(uint32_t word)
{
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

enum { COUNT = 37, LINES = 30000 };

static unsigned differing(line *one, line *other, size_t element)
{
    static const uint32_t special[] = {0u, 0x80000000u, 1u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00001u};
    unsigned differing = 0;
    for (int i = 0; i < LINES; i++) {
        float x[COUNT];
        const float scale = number((drawn() % 60u + 97u) << 23 | (drawn() & 0x7fffffu));
        for (int k = 0; k < COUNT; k++) {
            const int32_t whole = (int32_t)(drawn() % 255u) - 127;
            const int32_t kind = (int32_t)(drawn() % 3u);
            x[k] = kind == 0 ? scale * (float)whole
                 : kind == 1 ? scale * ((float)whole + 0.5f)
                             : scale * ((float)drawn() / 65536.0f - 128.0f);
        }
        if (i % 4 == 1) {
            x[0] = 127.0f * scale;
        } else if (i % 4 == 2) {
            x[drawn() % COUNT] = number(special[drawn() % 7u]);
        } else if (i % 400 == 3) {
            memset(x, 0, sizeof x);
            x[3] = number(0x80000000u);
        }
        int16_t y[2][COUNT] = {{0}};
        float scales[2] = {0.0f};
        uint8_t *of_one[] = {(uint8_t *)x, (uint8_t *)y[0], (uint8_t *)&scales[0]};
        uint8_t *of_other[] = {(uint8_t *)x, (uint8_t *)y[1], (uint8_t *)&scales[1]};
        const int32_t stride[] = {4, (int32_t)element, 4}, extent[] = {COUNT, COUNT, 1};
        one(of_one, stride, extent, NULL);
        other(of_other, stride, extent, NULL);
        differing += memcmp(y[0], y[1], sizeof y[0]) != 0 || memcmp(&scales[0], &scales[1], sizeof scales[0]) != 0;
    }
    return differing;
}

int main(void)
{
    printf("%u %u\\n", differing(fast_i8, bits_i8, 1), differing(fast_i16, bits_i16, 2));
    return 0;
}
"""


def differing(folder: Path, spoilt: tuple[str, str] = ("", "")) -> list[int]:
    """How many lines of each function differ between builds that compare floats by the core and by their bits."""
    kernel = runtime_dir() / "kernels" / "line_quantize_line.c"
    text = kernel.read_text(encoding="utf-8")
    assert spoilt[0] in text
    copy = folder / "line_quantize_line.c"
    copy.write_text(text.replace(*spoilt) if spoilt[0] else text, encoding="utf-8")
    (folder / "main.c").write_text(PROGRAM, encoding="utf-8")
    common = ["gcc", "-std=c11", "-Wall", "-Werror", "-fno-strict-aliasing", f"-I{runtime_dir() / 'include'}"]
    objects = []
    for prefix, soft, source in (("fast", "0", kernel), ("bits", "1", copy)):
        names = [f"-Dtilewright_line_quantize_line_{name}={prefix}_{name}" for name in FUNCTIONS]
        objects.append(folder / f"{prefix}.o")
        subprocess.run(
            [*common, "-O2", f"-DTILEWRIGHT_SOFT_FLOATS={soft}", *names, "-c", str(source), "-o", str(objects[-1])],
            check=True,
        )
    program = folder / "main"
    linked = [*common, "-O2", str(folder / "main.c"), *map(str, objects), "-lm", "-o", str(program)]
    subprocess.run(linked, check=True)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    return [int(word) for word in done.stdout.split()]


@needs_host_compiler
def test_bits_give_what_floats_give(tmp_path: Path) -> None:
    assert differing(tmp_path) == [0, 0]


@needs_host_compiler
@pytest.mark.parametrize(
    "spoilt",
    [("129.0f", "126.0f"), ("? value : range.low", "? range.low : value"), ("return 0;", "return 1;")],
    ids=["a bound", "a range", "NaN"],
)
def test_another_line_is_seen(spoilt: tuple[str, str], tmp_path: Path) -> None:
    assert sum(differing(tmp_path, spoilt)) > 0
