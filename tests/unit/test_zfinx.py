"""Floats in integer registers: the instructions, what the port has in place of libgcc, and kernels of floats."""

from __future__ import annotations

import math
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.firmware import build_riscv
from support.gvsoc import HAS_GVSOC, PLATFORM, needs_gvsoc
from support.instructions import Example, program, results
from support.interpreted import interpreted, needs_interpreter, run, spoilt_interpreter
from tilewright.base.resources import runtime_dir
from tilewright.platform import Platform
from tilewright.tools.simulate import simulate

NAN, INFINITE, LARGEST, LEAST = math.nan, math.inf, 3.4028234663852886e38, 2.0**-149
NUMBERS = (0.0, -0.0, 1.0, -1.5, 1 / 3, 2.0**24 + 2, -(2.0**31), LARGEST, LEAST, INFINITE, -INFINITE, NAN)
WHOLE = (0, 1, -1, 7, 2**24 + 1, -(2**24) - 3, 2**31 - 1, -(2**31))
MADE_NAN = 0x7FC00000
TWO = {"add": "fadd.s", "sub": "fsub.s", "mul": "fmul.s", "div": "fdiv.s"}
COMPARED = {"lt": "flt.s", "gt": "flt.s", "le": "fle.s", "ge": "fle.s", "eq": "feq.s", "ne": "feq.s"}
OUTCOMES = {
    "lt": lambda a, b, got: (got < 0) == (a < b),
    "gt": lambda a, b, got: (got > 0) == (a > b),
    "le": lambda a, b, got: (got <= 0) == (a <= b),
    "ge": lambda a, b, got: (got >= 0) == (a >= b),
    "eq": lambda a, b, got: (got == 0) == (a == b),
    "ne": lambda a, b, got: (got != 0) == (a != b),
    "unord": lambda a, b, got: (got != 0) == (math.isnan(a) or math.isnan(b)),
}
"""What GCC promises of the numbers that comparisons give (GCC internals, section 4.2)."""


def word(number: float) -> int:
    """The bits of a float32; those of a NaN are what an instruction makes."""
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    return MADE_NAN if math.isnan(number) else bits


def called(name: str, *operands: int) -> Example:
    """A call of a function of the compiler's library."""
    given = dict(zip(("a0", "a1"), operands, strict=False))
    return Example(f"call {name}", given, ("a0",))


def arithmetic(name: str) -> list[tuple[Example, int]]:
    """Products and the like of all pairs, with the bits that NumPy gives them."""
    apply = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
    with np.errstate(all="ignore"):
        return [
            (called(f"__{name}sf3", word(a), word(b)), word(float(apply(np.float32(a), np.float32(b)))))
            for a in NUMBERS
            for b in NUMBERS
        ]


def conversions() -> list[tuple[Example, int]]:
    inside = [number for number in NUMBERS if math.isfinite(number) and abs(number) < 2.0**31]
    found = [(called("__fixsfsi", word(number)), int(number) & 0xFFFFFFFF) for number in inside]
    found += [(called("__fixunssfsi", word(number)), int(number)) for number in (0.0, 1.75, 3e9, 2.0**31)]
    found += [(called("__floatsisf", whole), word(float(np.float32(whole)))) for whole in WHOLE]
    found += [
        (called("__floatunsisf", whole & 0xFFFFFFFF), word(float(np.float32(whole & 0xFFFFFFFF)))) for whole in WHOLE
    ]
    return found


def instruction(text: str, wanted: int, *operands: int) -> tuple[Example, int]:
    given = dict(zip(("a1", "a2", "a3"), operands, strict=False))
    return Example(text, given, ("a0",)), wanted


def by_sign(number: float) -> tuple[float, float]:
    """-0 is below 0."""
    return number, math.copysign(1.0, number)


def instructions() -> list[tuple[Example, int]]:
    """Those that no function of the library has, as kernels write them (zfinx.h)."""
    multiply_add = ".insn r4 0x43, 0, 0, a0, a1, a2, a3"
    root, nearest = ".insn r 0x53, 0, 0x2c, a0, a1, x0", ".insn r 0x53, 0, 0x60, a0, a1, x0"
    pairs = ((2.0, 1.0), (0.0, -0.0), (NAN, 3.0), (3.0, NAN), (INFINITE, -INFINITE), (-1.5, -1.5))
    orders = ((".insn r 0x53, 0, 0x14, a0, a1, a2", min), (".insn r 0x53, 1, 0x14, a0, a1, a2", max))
    small = 1.0 + 2.0**-12
    return [
        # The product's last bits are lost unless it is added before it is rounded.
        instruction(multiply_add, word(2.0**-24), word(small), word(small), word(-(1.0 + 2.0**-11))),
        instruction(multiply_add, word(7.0), word(2.0), word(3.0), word(1.0)),
        instruction(multiply_add, MADE_NAN, word(INFINITE), word(0.0), word(1.0)),
        *(instruction(root, word(float(np.sqrt(np.float32(x)))), word(x)) for x in (0.0, 2.0, 1e-40, INFINITE)),
        instruction(root, MADE_NAN, word(-1.0)),
        *(
            instruction(text, word(chosen([x for x in pair if not math.isnan(x)], key=by_sign)), *map(word, pair))
            for text, chosen in orders
            for pair in pairs
        ),
        *(
            instruction(nearest, whole & 0xFFFFFFFF, word(x))
            for x, whole in ((0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (2.75, 3), (3e9, 2**31 - 1))
        ),
    ]


EXAMPLES = [*(one for name in TWO for one in arithmetic(name)), *conversions(), *instructions()]
PAIRS = [(name, a, b) for name in OUTCOMES for a in NUMBERS for b in NUMBERS]


def differences(platform: Platform, elf: Path) -> list[str]:
    """The examples whose bits are others, and the comparisons that break the compiler's promise."""
    found = [next(iter(words.values())) for words in results(elf, platform, listed())]
    wrong = [
        f"{example.text} {dict(example.given)}: {got:#x}, not {wanted:#x}"
        for (example, wanted), got in zip(EXAMPLES, found, strict=False)
        if got != wanted
    ]
    for (name, a, b), got in zip(PAIRS, found[len(EXAMPLES) :], strict=True):
        if not OUTCOMES[name](a, b, got - (got >> 31 << 32)):
            wrong.append(f"__{name}sf2 of {a} and {b}: {got:#x}")
    return wrong


def listed() -> Sequence[Example]:
    """All examples, and a call for each comparison."""
    comparisons = (called(f"__{name}sf2", word(a), word(b)) for name, a, b in PAIRS)
    return [*(example for example, _ in EXAMPLES), *comparisons]


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program(listed(), PLATFORM, tmp_path_factory.mktemp("floats"))


@needs_interpreter
def test_functions_of_floats_have_the_bits_of_ieee_754(pulp_open: Platform, elf: Path) -> None:
    assert differences(pulp_open, elf) == []


@needs_gvsoc
def test_functions_of_floats_have_the_bits_of_ieee_754_in_gvsoc(elf: Path) -> None:
    assert HAS_GVSOC
    assert differences(PLATFORM, elf) == []


@needs_interpreter
def test_every_instruction_is_executed(elf: Path) -> None:
    known = [name for name in run("--operations").stdout.splitlines() if name.startswith("f") and name != "fence"]
    executed = run("--operations", elf).stdout.splitlines()
    assert set(known) == {
        *TWO.values(),
        *COMPARED.values(),
        "fmin.s",
        "fmax.s",
        "fsqrt.s",
        "fmadd.s",
        "fcvt.w.s rne",
        "fcvt.w.s rtz",
        "fcvt.wu.s rtz",
        "fcvt.s.w",
        "fcvt.s.wu",
    }
    assert set(known) <= set(executed)


@needs_interpreter
@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("fmaf(RS1, RS2, RS3)", "RS1 * RS2 + RS3", ".insn r4"),
        ("RS1 <= RS2", "!(RS2 < RS1)", "__lesf2"),
        ("fminf(a, b)", "a < b ? a : b", ".insn r 0x53, 0, 0x14"),
        ("rintf(RS1)", "roundf(RS1)", ".insn r 0x53"),
    ],
)
def test_a_spoilt_instruction_is_seen(old: str, new: str, named: str, elf: Path, tmp_path: Path) -> None:
    spoilt = interpreted(program=spoilt_interpreter(tmp_path, "zfinx.c", old, new))
    assert any(text.startswith(named) for text in differences(spoilt, elf))


QUANTIZING = r"""
#include "tilewright/kernels/quantize_math.h"

#include <stdio.h>

static uint32_t state = 1;

static uint32_t drawn(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* The nearest integer of a quotient, halves away from zero, + zero point, within int8. */
static int32_t away(float ratio, int32_t zero_point)
{
    if (ratio != ratio) {
        return zero_point;
    }
    if (ratio < (float)(-128 - zero_point)) {
        return -128;
    }
    if (ratio > (float)(127 - zero_point)) {
        return 127;
    }
    const int32_t whole = (int32_t)ratio;
    const float rest = ratio - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f) + zero_point;
}

static float number(uint32_t bits)
{
    const union {
        uint32_t bits;
        float number;
    } x = {bits};
    return x.number;
}

int main(void)
{
    unsigned differing = 0;
    for (int32_t i = 0; i < 40000; i++) {
        /* Scales of all exponents, some beyond those for which quotients are corrected. */
        const float scale = number((drawn() % 254u + 1u) << 23 | (drawn() & 0x7fffffu));
        const int32_t zero_point = (int32_t)(drawn() % 256u) - 128;
        const int32_t whole = (int32_t)(drawn() % 300u) - 150;
        const float tie = (float)(2 * whole + 1) * 0.5f * scale;
        const float xs[] = {tie, number(drawn() << 8 | drawn() >> 8), scale * (float)whole, LIMITS};
        const struct tilewright_quantizer quantizer =
            tilewright_quantizer_of(scale, zero_point, -128, 127);
        for (uint32_t k = 0; k < sizeof xs / sizeof xs[0]; k++) {
            differing += tilewright_quantize(&quantizer, xs[k]) !=
                         tilewright_quantized(xs[k], scale, zero_point, -128, 127);
            differing += tilewright_quantize_away(&quantizer, xs[k]) !=
                         away(xs[k] / scale, zero_point);
        }
    }
    printf("%u\n", differing);
    return 0;
}
""".replace("LIMITS", ", ".join(f"number({word(x):#x}u)" for x in (NAN, INFINITE, -INFINITE, LEAST)))
"""How often elements of QuantizeLinear differ with corrected quotients and with divisions."""


def differing(folder: Path, text: str = QUANTIZING) -> int:
    source = folder / "main.c"
    source.write_text(text, encoding="utf-8")
    lines: list[str] = []
    assert simulate(interpreted(), build_riscv(PLATFORM, [source], folder / "main.elf"), 60, heard=lines.append) == 0
    return int(lines[0])


@needs_interpreter
def test_corrected_quotients_are_those_of_divisions(tmp_path: Path) -> None:
    assert differing(tmp_path) == 0


@pytest.mark.parametrize(("spoilt", "is_same"), [("+ (1u << (shift - 1))", False), ("", True)])
def test_integers_are_rounded_to_by_the_bits_where_the_core_has_no_floats(
    spoilt: str, is_same: bool, tmp_path: Path
) -> None:
    """A build for size has no fast floats: it rounds as soft float does."""
    (tmp_path / "main.c").write_text(QUANTIZING, encoding="utf-8")
    header = tmp_path / "tilewright" / "kernels" / "float_math.h"
    header.parent.mkdir(parents=True)
    text = (runtime_dir() / "include/tilewright/kernels/float_math.h").read_text(encoding="utf-8")
    assert spoilt in text
    header.write_text(text.replace(spoilt, "") if spoilt else text, encoding="utf-8")
    program = tmp_path / "main"
    command = ["gcc", "-std=c11", "-Os", f"-I{tmp_path}", f"-I{runtime_dir() / 'include'}", str(tmp_path / "main.c")]
    subprocess.run([*command, "-lm", "-o", str(program)], check=True)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    assert (int(done.stdout) == 0) is is_same


@needs_interpreter
def test_a_quotient_that_is_not_corrected_is_seen(tmp_path: Path) -> None:
    text = (runtime_dir() / "include/tilewright/kernels/quantize_math.h").read_text(encoding="utf-8")
    spoilt = text.replace("for (int32_t i = 0; i < 2; i++)", "for (int32_t i = 0; i < 0; i++)")
    assert spoilt != text
    (tmp_path / "quantize_math.h").write_text(spoilt, encoding="utf-8")
    assert differing(tmp_path, QUANTIZING.replace("tilewright/kernels/quantize_math.h", "quantize_math.h")) > 0
