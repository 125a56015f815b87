"""Kernels of families in QEMU, with the instructions that they are for, against plain loops on random work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.firmware import build_arm, build_riscv, needs_arm, needs_riscv
from tilewright.base.resources import runtime_dir
from tilewright.platform import Platform, load_platform
from tilewright.tools.simulate import simulate

KERNELS = runtime_dir() / "kernels"
PROGRAM = Path(__file__).parents[1] / "support" / "runs_kernels.c"


@dataclass(frozen=True)
class Tried:
    """A family on a platform.

    ``packed_at`` is where C keeps the weight of tap t and channel c of a block, ``multiple`` that of taps;
    ``zero_of_unsigned`` is subtracted from uint8 elements.
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
    command: tuple[str, str] = ("", "")


RVV = Tried("rvv", "rv32-rvv", ("rvv_block.c",), 3, gathers=False)
DSP = Tried("dsp", "cortex-m4", ("dsp_block.c",), 2, "PAIRED(t, c, taps, count)", 4, is_depthwise=False)
MVE = Tried(
    "mve",
    "cortex-m55",
    ("mve_block.c", "mve_finish.c"),
    3,
    "(depth) ? (t) * (count) + (c) : (c) * (taps) + (t)",
    zero_of_unsigned=128,
)
TRIED = [
    pytest.param(RVV, marks=needs_riscv, id="rvv-128"),
    pytest.param(replace(RVV, command=("vlen=128", "vlen=256")), marks=needs_riscv, id="rvv-256"),
    *(
        pytest.param(replace(DSP, platform=name), marks=needs_arm, id=f"dsp-{name}")
        for name in ("cortex-m4", "cortex-m7", "cortex-m33")
    ),
    pytest.param(MVE, marks=needs_arm, id="mve"),
]


def platform_of(tried: Tried) -> Platform:
    """The platform, whose simulator has another core where the family is tried on one."""
    platform = load_platform(tried.platform)
    assert platform.simulator is not None
    command = tuple(word.replace(*tried.command) if tried.command[0] else word for word in platform.simulator.command)
    return replace(platform, simulator=replace(platform.simulator, command=command))


def run_program(tried: Tried, folder: Path, *, spoilt: bool = False) -> tuple[int, str]:
    """Exit status and last line; ``spoilt``: the loops add 1000 to each sum."""
    defines = f"#define FAMILY {tried.family}\n#define PIXELS {tried.pixels}\n"
    defines += f"#define PACKED_AT(t, c, taps, count, depth) ({tried.packed_at})\n"
    defines += f"#define MULTIPLE {tried.multiple}\n#define IS_DEPTHWISE {int(tried.is_depthwise)}\n"
    defines += f"#define GATHERS {int(tried.gathers)}\n#define ZERO_OF_UNSIGNED {tried.zero_of_unsigned}\n"
    text = PROGRAM.read_text(encoding="utf-8")
    if spoilt:
        text = text.replace("    return sum;", "    return sum + (int32_t)1000;").replace("CASES 400", "CASES 4")
    source = folder / "program.c"
    source.write_text(defines + text, encoding="utf-8")
    build = build_riscv if tried.platform.startswith("rv32") else build_arm
    names = ("conv_runs.c", "gather_runs.c", "integer_finish.c", *tried.sources)
    program = build(platform_of(tried), [source, *(KERNELS / name for name in names)], folder / "program.elf")
    lines: list[str] = []
    status = simulate(platform_of(tried), program, 120, heard=lines.append)
    return status, lines[-1]


@pytest.mark.parametrize("tried", TRIED)
def test_results_are_those_of_plain_loops(tried: Tried, tmp_path: Path) -> None:
    assert run_program(tried, tmp_path) == (0, "400 cases: 0 differ")


def run_vectors(name: str, sources: tuple[str, ...], folder: Path, wanted: str = "") -> tuple[int, str]:
    """Exit status and last line of a program for Cortex-M55; ``wanted`` takes the place of a sum in its loops."""
    text = (PROGRAM.parent / name).read_text(encoding="utf-8")
    source = folder / name
    source.write_text(text.replace("    return sum;", wanted or "    return sum;"), encoding="utf-8")
    platform = load_platform("cortex-m55")
    program = build_arm(platform, [source, *(KERNELS / kernel for kernel in sources)], folder / "program.elf")
    lines: list[str] = []
    status = simulate(platform, program, 120, heard=lines.append)
    return status, lines[-1]


@needs_arm
def test_gathered_windows_give_what_plain_loops_give(tmp_path: Path) -> None:
    found = run_vectors("depthwise_kernels.c", ("depthwise_mve.c",), tmp_path)
    assert found == (0, "400 cases: 0 differ")


@needs_arm
def test_a_wrong_sum_of_a_window_is_seen(tmp_path: Path) -> None:
    status, _ = run_vectors("depthwise_kernels.c", ("depthwise_mve.c",), tmp_path, "    return sum + (int32_t)1000;")
    assert status == 1


@needs_arm
def test_vectors_give_what_elements_apart_give(tmp_path: Path) -> None:
    sources = ("add_split.c", "binary_integer.c", "integer_line.c", "lookup.c", "pool_integer.c", "walk.c")
    assert run_vectors("vector_rows.c", sources, tmp_path) == (0, "200 cases: 0 differ")


@needs_riscv
def test_a_wrong_sum_is_seen(tmp_path: Path) -> None:
    status, output = run_program(RVV, tmp_path, spoilt=True)
    assert status == 1
    assert not output.endswith(": 0 differ")
