"""The assembler of kernel family xpulpv2: its encodings, and its results against C in simulators of pulp-open."""

from __future__ import annotations

import atexit
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest
from support.firmware import RISCV_GCC, build_riscv
from support.gvsoc import PLATFORM
from tilewright.base.resources import runtime_dir
from tilewright.options import build_options
from tilewright.pipeline import compile_model
from tilewright.platform import Platform
from tilewright.tools.simulate import simulate

KERNELS = runtime_dir() / "kernels"
SUPPORT = Path(__file__).parents[1] / "support"

needs_compiler = pytest.mark.skipif(shutil.which(RISCV_GCC) is None, reason=f"needs {RISCV_GCC}")

CLIPS = ("both", "around", "above")
"""How functions of planes clamp."""

NAMES = "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6".split()

# Bits from the highest to the lowest as the manuals print them: imm or function, rs2, rs1, function, rd, opcode.
PATTERNS = {
    "p.lw {rd},{imm}({rs1}!)": "------- ----- ----- 010 ----- 0001011",
    "p.lw {rd},{rs2}({rs1}!)": "0010000 ----- ----- 111 ----- 0001011",
    "p.sb {rs2},{rd}({rs1}!)": "0000000 ----- ----- 100 ----- 0101011",
    "p.sb {rs2},1({rs1}!)": "0000000 ----- ----- 000 00001 0101011",
    "p.sw {rs2},{rd}({rs1}!)": "0000000 ----- ----- 110 ----- 0101011",
    "p.clipr {rd},{rs1},{rs2}": "0001010 ----- ----- 101 ----- 0110011",
    "p.clipur {rd},{rs1},{rs2}": "0001010 ----- ----- 110 ----- 0110011",
    "p.mac {rd},{rs1},{rs2}": "0100001 ----- ----- 000 ----- 0110011",
    "p.addNr {rd},{rs1},{rs2}": "0100000 ----- ----- 010 ----- 1011011",
    "p.min {rd},{rs1},{rs2}": "0000010 ----- ----- 100 ----- 0110011",
    "p.max {rd},{rs1},{rs2}": "0000010 ----- ----- 110 ----- 0110011",
    "pv.dotsp.b {rd},{rs1},{rs2}": "1001100 ----- ----- 001 ----- 1010111",
    "pv.dotusp.b {rd},{rs1},{rs2}": "1000100 ----- ----- 001 ----- 1010111",
    "pv.sdotsp.b {rd},{rs1},{rs2}": "1011100 ----- ----- 001 ----- 1010111",
    "pv.sdotusp.b {rd},{rs1},{rs2}": "1010100 ----- ----- 001 ----- 1010111",
    "pv.shuffle2.b {rd},{rs1},{rs2}": "1100100 ----- ----- 001 ----- 1010111",
    "lp.setup 0,{rs1},{imm}": "------- ----- ----- 100 00000 1111011",
}


def decoded(word: int) -> str:
    """An instruction of Xpulpv2 as text; KeyError for any other word."""
    fields = {
        "rd": NAMES[word >> 7 & 31],
        "rs1": NAMES[word >> 15 & 31],
        "rs2": NAMES[word >> 20 & 31],
        "imm": str((word >> 20) - (word >> 31 << 12)),
    }
    for text, pattern in PATTERNS.items():
        bits = pattern.replace(" ", "")
        mask, match = int(bits.replace("0", "1").replace("-", "0"), 2), int(bits.replace("-", "0"), 2)
        if word & mask == match:
            return text.format(**fields)
    raise KeyError(hex(word))


def disassembled(source: str, function: str, folder: Path) -> list[str]:
    """A function's instructions as the stock tools see them, those that they do not know as ``decoded``."""
    return [text for _, text in addressed(source, function, folder)]


def addressed(source: str, function: str, folder: Path) -> list[tuple[int, str]]:
    """The same with their addresses."""
    target = folder / "code.o"
    options = [*PLATFORM.target.compile_options, "-O2", "-c", f"-I{runtime_dir() / 'include'}"]
    subprocess.run(
        [RISCV_GCC, "--specs=picolibc.specs", *options, str(KERNELS / source), "-o", str(target)], check=True
    )
    tool = RISCV_GCC.replace("gcc", "objdump")
    text = subprocess.run(
        [tool, "-d", "-z", f"--section=.text.{function}", str(target)], check=True, capture_output=True, text=True
    ).stdout
    lines = re.findall(r"^ +([0-9a-f]+):\t([0-9a-f]+) +\t(.*)$", text, re.MULTILINE)
    return [
        (int(at, 16), decoded(int(word, 16)) if rest.startswith((".4byte", ".word", "0x")) else rest)
        for at, word, rest in lines
    ]


def test_words_that_other_assemblers_gave_for_these_instructions() -> None:
    assert decoded(0x0049A78B) == "p.lw a5,4(s3!)"
    assert decoded(0xA8A714D7) == "pv.sdotusp.b s1,a4,a0"
    assert decoded(0xA8D79E57) == "pv.sdotusp.b t3,a5,a3"
    with pytest.raises(KeyError):
        decoded(0xA8D78E57)


@needs_compiler
@pytest.mark.parametrize(("sign", "dot"), [("signed", "pv.sdotsp.b"), ("unsigned", "pv.sdotusp.b")])
@pytest.mark.parametrize("rule", ["sums", "folded", "layer", "high", "away"])
def test_sixteen_sums_in_twenty_four_instructions(rule: str, sign: str, dot: str, tmp_path: Path) -> None:
    code = disassembled("xpulpv2_block.c", f"tilewright_xpulpv2_{rule}_{sign}", tmp_path)
    setup = next(number for number, text in enumerate(code) if text.startswith("lp.setup"))
    loop = code[setup + 1 : setup + 25]
    assert code[setup] == "lp.setup 0,a2,48"
    assert sum(text.startswith("p.lw") for text in loop) == 8
    assert sum(text.startswith(dot) for text in loop) == 16
    assert len({text.split()[1].split(",")[0] for text in loop if text.startswith(dot)}) == 16
    assert not any(text.startswith(("pv.", "p.lw a5", "p.lw a6")) for text in code[setup + 25 : setup + 30])


@needs_compiler
@pytest.mark.parametrize(("rule", "loops"), [("folded", 4), ("layer", 4), ("high", 4), ("away", 2)])
def test_the_loop_over_halves_ends_with_its_last_move(rule: str, loops: int, tmp_path: Path) -> None:
    code = disassembled("xpulpv2_block.c", f"tilewright_xpulpv2_{rule}_signed", tmp_path)
    setups = [number for number, text in enumerate(code) if text.startswith("lp.setup")]
    offset = int(code[setups[-1]].split(",")[2])
    assert len(setups) == loops
    assert code[setups[-1] + offset // 2] == "mv\ts3,s11"
    assert not code[setups[-1] + offset // 2 + 1].startswith("mv")


@needs_compiler
@pytest.mark.parametrize(("rule", "ways"), [("folded", 3), ("layer", 3), ("high", 3), ("away", 1)])
def test_what_a_block_with_one_run_executes_is_about_the_fast_instructions_of_a_core(
    rule: str, ways: int, tmp_path: Path
) -> None:
    code = addressed("xpulpv2_block.c", f"tilewright_xpulpv2_{rule}_signed", tmp_path)
    found = [(at, re.fullmatch(r"bne\ta1,a2,([0-9a-f]+) <[.]L2.*>", text)) for at, text in code]
    lengths = [at + 4 - int(branch[1], 16) for at, branch in found if branch is not None]
    assert len(lengths) == ways
    assert max(lengths) <= 544


@needs_compiler
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("rule", ["folded", "high"])
def test_the_loops_of_planes_end_with_their_store(rule: str, clip: str, tmp_path: Path) -> None:
    code = disassembled("xpulpv2_plane.c", f"tilewright_xpulpv2_plane_{rule}_{clip}_signed", tmp_path)
    setups = [number for number, text in enumerate(code) if text.startswith("lp.setup")]
    ends = [setup + int(code[setup].split(",")[2]) // 2 for setup in setups]
    assert [code[end] for end in ends] == [f"p.sb s6,a6({at}!)" for at in ("a5", "s10", "a5")]
    dots = [
        sum(text.startswith(("pv.dotsp.b", "pv.sdotsp.b")) for text in code[setup:end])
        for setup, end in zip(setups, ends, strict=True)
    ]
    assert dots == [3, 18, 9]


@needs_compiler
def test_the_loop_of_a_vector_has_no_more_than_its_loads_and_products(tmp_path: Path) -> None:
    code = disassembled("xpulpv2_vector.c", "tilewright_xpulpv2_vector_folded_signed", tmp_path)
    setup = next(number for number, text in enumerate(code) if text.startswith("lp.setup"))
    assert code[setup] == "lp.setup 0,a2,18"
    names = [text.split()[0] for text in code[setup + 1 : setup + 11]]
    assert names == ["p.lw"] * 5 + ["pv.sdotsp.b"] * 4 + ["lw"]


@needs_compiler
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize(("rows", "count"), [("five", 5), ("seven", 7)])
def test_the_loop_of_wide_windows_ends_with_its_store(rows: str, count: int, clip: str, tmp_path: Path) -> None:
    code = disassembled("xpulpv2_plane.c", f"tilewright_xpulpv2_{rows}_high_{clip}_unsigned", tmp_path)
    setup = next(number for number, text in enumerate(code) if text.startswith("lp.setup"))
    end = setup + int(code[setup].split(",")[2]) // 2
    assert code[end] == "p.sb t3,ra(s11!)"
    assert sum(text.startswith("pv.sdotusp.b") for text in code[setup:end]) == 2 * count


@cache
def cores(*, spoilt: bool = False) -> Path:
    """The program of tests/support/xpulpv2_cores.c; ``spoilt``: the reference adds 1 to each sum."""
    folder = Path(tempfile.mkdtemp(prefix="tilewright-cores-"))
    atexit.register(shutil.rmtree, folder)
    block = (KERNELS / "xpulpv2_block_c.c").read_text(encoding="utf-8")
    block = re.sub(r"#if !defined\(__riscv\).*", "#if 1", block)
    if spoilt:
        block = block.replace("job->weights += 16 * job->run_words;", "job->weights += 16 * job->run_words, sums[5]++;")
    parts = {"block": block} | {
        name: '#include "reference.h"\n' + text[text.index("#else") + 5 : text.rindex("#endif")]
        for name in ("plane", "spread", "vector")
        for text in ((KERNELS / f"xpulpv2_{name}.c").read_text(encoding="utf-8"),)
    }
    kinds = [
        f"{kind}_{sign}" for kind in ("sums", "folded", "layer", "high", "away") for sign in ("signed", "unsigned")
    ]
    shapes = ("plane", "five", "seven")
    finishes = ("sums", *(f"{rule}_{clip}" for rule in ("folded", "high") for clip in CLIPS))
    planes = [f"{shape}_{kind}_{sign}" for shape in shapes for kind in finishes for sign in ("signed", "unsigned")]
    vectors = [f"vector_{kind}" for kind in kinds]
    header = "#pragma once\n" + "".join(
        f'#include "tilewright/kernels/{name}.h"\n' for name in ("xpulpv2_core", "xpulpv2_plane", "xpulpv2_vector")
    )
    header += "".join(f"tilewright_xpulpv2_block reference_{name};\n" for name in kinds)
    numbers = ", ".join(["int32_t"] * 6)
    header += f"void reference_spread(uint8_t *, const uint8_t *, {numbers});\n"
    header += "".join(f"tilewright_xpulpv2_column reference_{name};\n" for name in planes)
    header += "".join(f"tilewright_xpulpv2_vectors reference_{name};\n" for name in vectors)
    (folder / "reference.h").write_text(header, encoding="utf-8")
    prefix = re.compile(r"void tilewright_xpulpv2_(?=sums|#|vector|spread)")
    for name, text in parts.items():
        text = text.replace('#include "tilewright/kernels/xpulpv2_core.h"', '#include "reference.h"')
        (folder / f"reference_{name}.c").write_text(prefix.sub("void reference_", text), encoding="utf-8")
    shutil.copy(SUPPORT / "xpulpv2_cores.c", folder)
    names = (*(f"xpulpv2_{part}.c" for part in parts), "integer_finish.c")
    sources = [folder / "xpulpv2_cores.c", *(folder / f"reference_{part}.c" for part in parts)]
    return build_riscv(PLATFORM, [*sources, *(KERNELS / name for name in names)], folder / "cores.elf")


def run_cores(platform: Platform, *, spoilt: bool = False) -> tuple[int, str]:
    """Exit status and last line."""
    lines: list[str] = []
    status = simulate(platform, cores(spoilt=spoilt), 60, heard=lines.append)
    return status, lines[-1]


@needs_compiler
def test_assembler_and_c_give_the_same_bits(pulp_open: Platform) -> None:
    assert run_cores(pulp_open) == (0, "0 of 2520 differ")


@needs_compiler
def test_a_wrong_sum_is_seen(pulp_open: Platform) -> None:
    status, output = run_cores(pulp_open, spoilt=True)
    assert status == 1
    assert not output.startswith("0 of")


def test_kernels_beyond_what_its_fields_hold_are_left_to_scalar_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernels() -> set[str]:
        model = Path(__file__).parents[1] / "firmware" / "models" / "qdq_residual" / "network.onnx"
        values = {"model": model, "platform": "pulp-open", "name": "net"}
        return {layer.kernel for layer in compile_model(build_options(("test", values))).plan.layers}

    assert any("conv_xpulpv2" in kernel for kernel in kernels())
    monkeypatch.setattr("tilewright.kernels.xpulpv2.conv._MOST_IN_SHORT", 0)
    assert not any("conv_xpulpv2" in kernel for kernel in kernels())
