"""The instructions of Xpulpv2, one by one: examples from the manual, written as the kernels write them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.gvsoc import PLATFORM
from support.instructions import Example, macros, program, results
from support.interpreted import interpreted, needs_interpreter, run, spoilt_interpreter
from tilewright.platform import Platform

pytestmark = needs_interpreter

LOWEST, HIGHEST = -(2**31), 2**31 - 1
MEMORY = (0x11223344, 0x8899AABB, 0xFFEEDDCC, 0x00000080)


def three(name: str, first: int, second: int, into: int = 0) -> Example:
    """a1 of an instruction of a2 and a3."""
    return Example(f"{name} a1, a2, a3", {"a1": into, "a2": first, "a3": second}, ("a1", "a2", "a3"))


def loop(count: int, body: str, instructions: int) -> Example:
    setup = f".balign 4\ntilewright_lp_setup a3, {2 * instructions}\n{body}"
    return Example(setup, {"a1": 0, "a2": 0, "a3": count}, ("a1", "a2", "a3"))


def dots(function: int, first: int, second: int, into: int = 0) -> Example:
    """Each channel's word with the same pixels; the macro has the channels in a1 to a4."""
    given = {"t0": first, "a1": second, "a2": 0, "a3": 1, "a4": -1, "s0": into, "s1": 7, "s2": 0, "s3": 0}
    return Example(f"tilewright_dots {function:#x}, t0, s0, s1, s2, s3", given, ("s0", "s1", "s2", "s3"))


SIGNED, UNSIGNED = 0x5C, 0x54
BY_REGISTER = ".insn r 0x0b, 7, 0x10, a1, a2, a3"
STORE_WORD = ".insn r 0x2b, 6, 0, a3, a2, a1"
SHUFFLE = ".insn r 0x57, 1, 0x64, a1, a2, a3"
STORED = ("a2", 0, 1)
ADD_SHIFTED = "tilewright_p_add_shift a1, a2, a3"
EXTRACT, EXTRACT_UNSIGNED = 0x3C, 0x48
MAXIMUM, MAXIMUM_UNSIGNED = 0x18, 0x1C


def extract(function: int, number: int) -> Example:
    """Takes byte ``number`` of a2; the instruction has the number's lowest bit above the other bits."""
    text = f".insn r 0x57, 7, {function + number % 2:#x}, a1, a2, x{number // 2}"
    return Example(text, {"a1": 5, "a2": 0x7F80FE01}, ("a1", "a2"))


def of_bytes(function: int, first: int, second: int) -> Example:
    return Example(f".insn r 0x57, 1, {function:#x}, a1, a2, a3", {"a1": 5, "a2": first, "a3": second}, ("a1",))


EXAMPLES: dict[str, list[tuple[Example, tuple[int, ...]]]] = {
    "p.lw rd, imm(rs1!)": [
        (Example("tilewright_p_lw a1, a2\nsub a2, a2, s10", {"a2": "data"}, ("a1", "a2"), MEMORY), (0x11223344, 4)),
        (Example("tilewright_p_lw a1, a2\nsub a2, a2, s10", {"a2": "data+3"}, ("a1", "a2"), MEMORY), (0x99AABB11, 7)),
        (
            Example(".insn i 0x0b, 2, a1, -2048(a2)\nsub a2, a2, s10", {"a2": "data+8"}, ("a1", "a2"), MEMORY),
            (0xFFEEDDCC, 8 - 2048),
        ),
        (
            Example(".insn i 0x0b, 2, a1, 2047(a2)\nsub a2, a2, s10", {"a2": "data+4"}, ("a1", "a2"), MEMORY),
            (0x8899AABB, 4 + 2047),
        ),
    ],
    "p.lw rd, rs2(rs1!)": [
        (Example(f"{BY_REGISTER}\nsub a2, a2, s10", {"a2": "data+4", "a3": step}, ("a1", "a2", "a3"), MEMORY), wanted)
        for step, wanted in ((12, (0x8899AABB, 16, 12)), (-7, (0x8899AABB, -3, -7)), (0, (0x8899AABB, 4, 0)))
    ],
    "p.sb rs2, imm(rs1!)": [
        (
            Example("tilewright_p_sb_next a1, a2\nsub a2, a2, s10", {"a1": 0x12345678, "a2": at}, STORED, MEMORY),
            wanted,
        )
        for at, wanted in (
            ("data", (1, 0x11223378, 0x8899AABB)),
            ("data+3", (4, 0x78223344, 0x8899AABB)),
            ("data+4", (5, 0x11223344, 0x8899AA78)),
        )
    ],
    "p.sb rs2, rs3(rs1!)": [
        (
            Example(
                "tilewright_p_sb a1, a2, a3\nsub a2, a2, s10", {"a1": -2, "a2": "data+2", "a3": step}, STORED, MEMORY
            ),
            (2 + step, 0x11FE3344, 0x8899AABB),
        )
        for step in (30, -5, 0, 100000)
    ],
    "p.sw rs2, rs3(rs1!)": [
        (
            Example(f"{STORE_WORD}\nsub a2, a2, s10", {"a1": -2, "a2": at, "a3": step}, STORED, MEMORY),
            wanted,
        )
        for at, step, wanted in (
            ("data", 30, (30, -2, 0x8899AABB)),
            ("data+4", -5, (-1, 0x11223344, -2)),
            ("data+2", 0, (2, 0xFFFE3344, 0x8899FFFF)),
        )
    ],
    "p.clipr": [
        (three("tilewright_p_clip", value, bound), (wanted, value, bound))
        for value, bound, wanted in (
            (200, 127, 127),
            (127, 127, 127),
            (126, 127, 126),
            (-127, 127, -127),
            (-128, 127, -128),
            (-129, 127, -128),
            (5, 0, 0),
            (-5, 0, -1),
            (LOWEST, HIGHEST, LOWEST),
            (HIGHEST, HIGHEST, HIGHEST),
        )
    ],
    "p.clipur": [
        (three("tilewright_p_clipu", value, bound), (wanted, value, bound))
        for value, bound, wanted in (
            (300, 255, 255),
            (255, 255, 255),
            (254, 255, 254),
            (0, 255, 0),
            (-1, 255, 0),
            (LOWEST, 255, 0),
            (9, 0, 0),
            (HIGHEST, HIGHEST, HIGHEST),
        )
    ],
    "p.mac": [
        (three("tilewright_p_mac", first, second, into), (into + first * second, first, second))
        for first, second, into in (
            (7, -3, 5),
            (0, 99, -4),
            (65536, 65536, 3),
            (LOWEST, LOWEST, 1),
            (HIGHEST, HIGHEST, HIGHEST),
            (-1, LOWEST, LOWEST),
        )
    ],
    "p.addNr": [
        (Example(ADD_SHIFTED, {"a1": into, "a2": first, "a3": bits}, ("a1", "a2")), (wanted, first))
        for into, first, bits, wanted in (
            (100, 28, 3, 16),
            (-100, 28, 3, -9),
            (-1, 0, 31, -1),
            (7, 5, 0, 12),
            (7, 5, 34, 3),
            (HIGHEST, 1, 4, LOWEST >> 4),
        )
    ],
    "p.min": [
        (three("tilewright_p_min", first, second), (min(first, second), first, second))
        for first, second in ((1, 2), (2, 1), (-1, 1), (LOWEST, HIGHEST), (HIGHEST, LOWEST), (-5, -5))
    ],
    "p.max": [
        (three("tilewright_p_max", first, second), (max(first, second), first, second))
        for first, second in ((1, 2), (2, 1), (-1, 1), (LOWEST, HIGHEST), (HIGHEST, LOWEST), (-5, -5))
    ],
    "pv.extract.b": [
        (extract(EXTRACT, number), (wanted, 0x7F80FE01)) for number, wanted in enumerate((1, -2, -128, 127))
    ],
    "pv.extractu.b": [
        (extract(EXTRACT_UNSIGNED, number), (wanted, 0x7F80FE01)) for number, wanted in enumerate((1, 254, 128, 127))
    ],
    "pv.max.b": [
        (of_bytes(MAXIMUM, 0x80FF7F01, 0x7F018000), (0x7F017F01,)),
        (of_bytes(MAXIMUM, 0x00000000, 0xFFFEFF80 - (1 << 32)), (0,)),
    ],
    "pv.maxu.b": [
        (of_bytes(MAXIMUM_UNSIGNED, 0x00FF7F01, 0x7F018000), (0x7FFF8001,)),
        (of_bytes(MAXIMUM_UNSIGNED, 0x00000000, 0x7FFEFF80), (0x7FFEFF80,)),
    ],
    "pv.dotsp.b": [
        (of_bytes(0x4C, 0x01020304, 0x05060708), (5 + 12 + 21 + 32,)),
        (of_bytes(0x4C, 0x80808080 - (1 << 32), 0x7F808080), (3 * 128 * 128 - 128 * 127,)),
    ],
    "pv.dotusp.b": [
        (of_bytes(0x44, 0xFFFFFFFF - (1 << 32), 0x7F7F7F7F), (4 * 255 * 127,)),
        (of_bytes(0x44, 0x00000080, 0x000000FF), (-128,)),
    ],
    # The second word of each is 7, onto which nothing is added; the third's lowest byte is 1; all of the fourth's -1.
    "pv.sdotsp.b": [
        (dots(SIGNED, 0x01020304, 0x05060708), (5 + 12 + 21 + 32, 7, 4, -10)),
        (dots(SIGNED, 0x80808080, 0x80808080), (4 * 128 * 128, 7, -128, 512)),
        (dots(SIGNED, 0x7F7F7F7F, 0x80808080, HIGHEST), (HIGHEST - 4 * 127 * 128, 7, 127, -508)),
        (dots(SIGNED, 0xFF00FF00, 0x00FF00FF, 3), (3, 7, 0, 2)),
        (dots(SIGNED, 0x80808080, 0x80808080, HIGHEST), (HIGHEST + 65536, 7, -128, 512)),
    ],
    "pv.sdotusp.b": [
        (dots(UNSIGNED, 0x01020304, 0x05060708), (5 + 12 + 21 + 32, 7, 4, -10)),
        (dots(UNSIGNED, 0xFFFFFFFF, 0x80808080), (-4 * 255 * 128, 7, 255, -1020)),
        (dots(UNSIGNED, 0x80808080, 0xFFFFFFFF, -1), (-1 - 4 * 128, 7, 128, -512)),
        (dots(UNSIGNED, 0xFFFFFFFF, 0x7F7F7F7F, HIGHEST), (HIGHEST + 4 * 255 * 127, 7, 255, -1020)),
        (dots(UNSIGNED, 0xFF0000FE, 0x01000080, 0), (255 - 254 * 128, 7, 254, -509)),
    ],
    # The selector's byte has 4 for rs1's bytes, 0 for rd's, and which of the four.
    "pv.shuffle2.b": [
        (
            Example(SHUFFLE, {"a1": 0x44332211, "a2": 0x88776655, "a3": selector}, ("a1", "a2", "a3")),
            (wanted, 0x88776655, selector),
        )
        for selector, wanted in (
            (0x03020100, 0x44332211),
            (0x07060504, 0x88776655),
            (0x05010400, 0x66225511),
            (0x07030602, 0x88447733),
            (0x00000007, 0x11111188),
            (0xF8F9FAFB - (1 << 32), 0x11223344),
        )
    ],
    "lp.setup 0": [
        (loop(count, "addi a1, a1, 1\naddi a1, a1, 1\naddi a1, a1, 1\naddi a2, a2, 2", 3), (3 * count, 2, count))
        for count in (1, 2, 10)
    ]
    + [
        # The body overwrites a3, from which the count was read when the loop began.
        (loop(4, "addi a1, a1, 1\nli a3, 100\nadd a2, a2, a1\nadd a2, a2, a2", 4), (4, 52, 100)),
        # A second loop, when the first has ended.
        (
            loop(2, "nop\nnop\naddi a1, a1, 5\ntilewright_lp_setup a3, 6\nnop\nnop\naddi a2, a2, 3", 3),
            (10, 6, 2),
        ),
    ],
}

ALL = [(name, example, wanted) for name, examples in EXAMPLES.items() for example, wanted in examples]


def differences(platform: Platform, elf: Path) -> list[str]:
    found = results(elf, platform, [example for _, example, _ in ALL])
    wrong = []
    for (name, example, wanted), got in zip(ALL, found, strict=True):
        words = [word & 0xFFFFFFFF for word in wanted]
        if list(got.values()) != words:
            wrong.append(f"{name}, {example.text}, {dict(example.given)}: {got}, not {words}")
    return wrong


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program([example for _, example, _ in ALL], PLATFORM, tmp_path_factory.mktemp("examples"))


def test_examples_of_the_manual(pulp_open: Platform, elf: Path) -> None:
    assert differences(pulp_open, elf) == []


def test_examples_are_written_by_the_macros_of_the_kernels() -> None:
    used = set(re.findall(r"tilewright_\w+", " ".join(example.text for _, example, _ in ALL)))
    assert set(re.findall(r"[.]macro (\w+)", macros())) == used
    assert len(used) == 11


def test_every_instruction_has_examples(elf: Path) -> None:
    known = run("--operations").stdout.splitlines()
    assert [name for name in known if name.startswith(("p.", "pv.", "lp."))] == list(EXAMPLES)
    executed = run("--operations", elf).stdout.splitlines()
    assert set(EXAMPLES) <= set(executed)


SPOILT = {
    "pv.shuffle2.b": ("8u * (RS2 >> shift & 7u)", "8u * (RS2 >> shift & 3u)"),
    "pv.extract.b": ("(int32_t)(int8_t)extracted", "(int32_t)extracted"),
    "pv.maxu.b": ("largest_bytes(hart, in, 0u)", "largest_bytes(hart, in, 0x80u)"),
    "p.addNr": ("hart->x[in->rd] + RS1) >>", "hart->x[in->rd] - RS1) >>"),
    "p.clipr": ("limited(RS1, (int32_t)~RS2, (int32_t)RS2)", "limited(RS1, -(int32_t)RS2, (int32_t)RS2)"),
    "pv.sdotusp.b": (
        "hart->x[in->rd] + unsigned_signed_dot(hart, in)",
        "hart->x[in->rd] + signed_dot(hart, in)",
    ),
    "pv.dotusp.b": ("in->rd, unsigned_signed_dot(hart, in)", "in->rd, signed_dot(hart, in)"),
    "lp.setup 0": ("{start, end, RS1}", "{start, end, RS1 + 1u}"),
}
"""One change to xpulpv2.c each, and whose examples must then differ."""


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_instruction_is_seen(name: str, elf: Path, tmp_path: Path) -> None:
    spoilt = interpreted(program=spoilt_interpreter(tmp_path, "xpulpv2.c", *SPOILT[name]))
    wrong = differences(spoilt, elf)
    assert wrong
    assert all(text.startswith(name) for text in wrong)
