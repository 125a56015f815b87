"""Kernels of families in QEMU, with the instructions that they are for, against plain loops on random work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.firmware import build_arm, build_riscv, needs_arm, needs_riscv
from tilewright.base.resources import runtime_dir
from tilewright.platform import Platform, load_platform
from tilewright.tools.simulate import simulate

WRONG_SUM = ("    return sum;", "    return sum + (int32_t)1000;")
VECTORS = {
    "depthwise_kernels.c": ("depthwise_mve.c",),
    "vector_rows.c": (
        "add_split.c",
        "binary_integer.c",
        "integer_line.c",
        "largest_bytes.c",
        "lookup.c",
        "pool_integer.c",
        "walk.c",
    ),
}
PLANES = ("depthwise_integer.c", "depthwise_slide.c", "depthwise_dsp.c", "integer_finish.c")
KERNELS = runtime_dir() / "kernels"
PROGRAMS = Path(__file__).parents[1] / "support"
RANDOM = "random_work.h"


@dataclass(frozen=True)
class Tried:
    """A family on a platform.

    ``packed_at`` is where C keeps the weight of tap t and channel c of a block, ``multiple`` that of taps;
    ``zero_of_unsigned`` is subtracted from uint8 elements. ``lite_finishes`` are functions of the family for rules
    away and twice.
    """

    family: str
    platform: str
    sources: tuple[str, ...]
    pixels: int
    packed_at: str = "(t) * (count) + (c)"
    multiple: int = 1
    is_depthwise: bool = True
    gathers: bool = True
    zero_of_unsigned: int = 0
    lite_finishes: tuple[str, ...] = ()
    command: tuple[str, str] = ("", "")


LITE = ("away", "twice")
RVV = Tried("rvv", "rv32-rvv", ("rvv_block.c",), 3, gathers=False, lite_finishes=LITE)
DSP = Tried(
    "dsp",
    "cortex-m4",
    ("dsp_block.c",),
    3,
    "PAIRED(t, c, taps, count)",
    4,
    is_depthwise=False,
    lite_finishes=LITE,
)
MVE = Tried(
    "mve",
    "cortex-m55",
    ("mve_block.c", "mve_finish.c"),
    3,
    "(depth) ? (t) * (count) + (c) : (c) * (taps) + (t)",
    zero_of_unsigned=128,
    lite_finishes=LITE,
)
TRIED = [
    pytest.param(RVV, marks=needs_riscv, id="rvv-128"),
    pytest.param(replace(RVV, command=("vlen=128", "vlen=256")), marks=needs_riscv, id="rvv-256"),
    pytest.param(DSP, marks=needs_arm, id="dsp-cortex-m4"),
    # The same instructions as those of Cortex-M4.
    *(
        pytest.param(replace(DSP, platform=name), marks=[needs_arm, pytest.mark.long], id=f"dsp-{name}")
        for name in ("cortex-m7", "cortex-m33")
    ),
    pytest.param(MVE, marks=needs_arm, id="mve"),
]


def platform_of(tried: Tried) -> Platform:
    """The platform, whose simulator has another core where the family is tried on one."""
    platform = load_platform(tried.platform)
    assert platform.simulator is not None
    command = tuple(word.replace(*tried.command) if tried.command[0] else word for word in platform.simulator.command)
    return replace(platform, simulator=replace(platform.simulator, command=command))


def write_program(folder: Path, name: str, before: str = "", *, edit: tuple[str, str] = ("", "")) -> Path:
    """A program of tests/support with the text ``before`` in front; ``edit`` replaces text that it has."""
    text = (PROGRAMS / name).read_text(encoding="utf-8")
    assert edit[0] in text
    (folder / RANDOM).write_text((PROGRAMS / RANDOM).read_text(encoding="utf-8"), encoding="utf-8")
    source = folder / name
    source.write_text(before + (text.replace(*edit) if edit[0] else text), encoding="utf-8")
    return source


def run_program(tried: Tried, folder: Path, *, spoilt: bool = False) -> tuple[int, str]:
    """Exit status and last line; ``spoilt``: the loops add 1000 to each sum."""
    defines = f"#define FAMILY {tried.family}\n#define PIXELS {tried.pixels}\n"
    defines += f"#define PACKED_AT(t, c, taps, count, depth) ({tried.packed_at})\n"
    defines += f"#define MULTIPLE {tried.multiple}\n#define IS_DEPTHWISE {int(tried.is_depthwise)}\n"
    defines += f"#define GATHERS {int(tried.gathers)}\n#define ZERO_OF_UNSIGNED {tried.zero_of_unsigned}\n"
    finishes = ", ".join(f"OF_FAMILY({name})" for name in tried.lite_finishes)
    defines += f"#define LITE_FINISHES {finishes}\n" + "#define CASES 4\n" * spoilt
    source = write_program(folder, "runs_kernels.c", defines, edit=WRONG_SUM if spoilt else ("", ""))
    build = build_riscv if tried.platform.startswith("rv32") else build_arm
    names = ("conv_runs.c", "gather_runs.c", "integer_finish.c", *tried.sources)
    program = build(platform_of(tried), [source, *(KERNELS / name for name in names)], folder / "program.elf")
    lines: list[str] = []
    status = simulate(platform_of(tried), program, 120, heard=lines.append)
    return status, lines[-1]


@pytest.mark.parametrize("tried", TRIED)
def test_results_are_those_of_plain_loops(tried: Tried, tmp_path: Path) -> None:
    assert run_program(tried, tmp_path) == (0, "400 cases: 0 differ")


def run_vectors(name: str, folder: Path, edit: tuple[str, str] = ("", ""), core: str = "cortex-m55") -> tuple[int, str]:
    """Exit status and last line of a program for a core; ``edit`` replaces text of it."""
    source, platform = write_program(folder, name, edit=edit), load_platform(core)
    program = build_arm(platform, [source, *(KERNELS / kernel for kernel in VECTORS[name])], folder / "program.elf")
    lines: list[str] = []
    status = simulate(platform, program, 120, heard=lines.append)
    return status, lines[-1]


@needs_arm
@pytest.mark.parametrize(("name", "cases"), [("depthwise_kernels.c", 400), ("vector_rows.c", 200)])
def test_vectors_give_what_plain_loops_give(name: str, cases: int, tmp_path: Path) -> None:
    assert run_vectors(name, tmp_path) == (0, f"{cases} cases: 0 differ")


@needs_arm
def test_words_give_what_plain_loops_give(tmp_path: Path) -> None:
    assert run_vectors("vector_rows.c", tmp_path, core="cortex-m4") == (0, "200 cases: 0 differ")


@needs_arm
@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("depthwise_kernels.c", WRONG_SUM),
        ("vector_rows.c", ("sum > 0 ?", "sum >= -100 ?")),
        ("vector_rows.c", ("run(views, seed)", "run(views, seed + (uint32_t)i)")),
    ],
)
def test_wrong_results_of_vectors_are_seen(name: str, edit: tuple[str, str], tmp_path: Path) -> None:
    status, output = run_vectors(name, tmp_path, edit)
    assert status == 1
    assert not output.endswith(": 0 differ")


def run_planes(folder: Path, edit: tuple[str, str] = ("", "")) -> tuple[int, str]:
    """Exit status and last line of depthwise convolutions on Cortex-M4; ``edit`` replaces text of the program."""
    source = write_program(folder, "depthwise_kernels.c", "#define PLANES\n", edit=edit)
    platform = load_platform("cortex-m4")
    program = build_arm(platform, [source, *(KERNELS / kernel for kernel in PLANES)], folder / "program.elf")
    lines: list[str] = []
    status = simulate(platform, program, 120, heard=lines.append)
    return status, lines[-1]


@needs_arm
def test_planes_give_what_plain_loops_give(tmp_path: Path) -> None:
    assert run_planes(tmp_path) == (0, "400 cases: 0 differ")


@needs_arm
def test_wrong_results_of_planes_are_seen(tmp_path: Path) -> None:
    status, output = run_planes(tmp_path, WRONG_SUM)
    assert status == 1
    assert not output.endswith(": 0 differ")


@needs_riscv
def test_a_wrong_sum_is_seen(tmp_path: Path) -> None:
    status, output = run_program(RVV, tmp_path, spoilt=True)
    assert status == 1
    assert not output.endswith(": 0 differ")
