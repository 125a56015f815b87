"""What lives at an address: elements, slots, steps, bases of pools from options and from programs."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import plans
from support.firmware import ARM_GCC, RISCV_GCC
from support.sound import BASE
from tilewright.base.errors import TilewrightError
from tilewright.cli import main
from tilewright.cli.where import pool_bases
from tilewright.firmware.elf_file import symbol_addresses
from tilewright.plan.json import dumps
from tilewright.report.where import where_data

L1, SRAM, FLASH = BASE.pools
COMPILERS = {"cc": "nm", RISCV_GCC: "riscv64-unknown-elf-nm", ARM_GCC: "arm-none-eabi-nm"}


def found(offset: int, step: int | None = None) -> list[tuple[str, Any, Any]]:
    return [(item["buffer"], item["slot"], item["element"]) for item in where_data(BASE, L1, offset, step)["buffers"]]


def test_slots_elements_and_padding() -> None:
    # conv.x lies at 0 with two slots of 20 bytes, 5 x 4 elements; relu.x at 0 with 4 x 32.
    assert found(0) == [("conv.x", 0, [0, 0]), ("relu.x", None, [0, 0])]
    assert found(27) == [("conv.x", 1, [1, 3]), ("relu.x", None, [0, 27])]
    # conv.w is 2 x 3 bytes in a slot of 8, at 40.
    assert found(45, 0) == [("conv.w", None, [1, 2])]
    assert found(46, 0) == [("conv.w", None, None)]


def test_steps_choose() -> None:
    assert found(0, 1) == [("relu.x", None, [0, 0])]
    assert found(200, 0) == []
    assert where_data(BASE, L1, 200, 1)["buffers"][0]["layers"] == ["relu"]


def test_strides_decide_not_the_order_of_axes() -> None:
    turned = tuple(replace(item, strides_bytes=(1, 4)) if item.name == "relu.x" else item for item in BASE.buffers)
    entry = where_data(replace(BASE, buffers=turned), L1, 9, 1)["buffers"][0]
    assert entry["element"] == [1, 2]


def test_views_name_what_they_lie_in() -> None:
    entries = {item["buffer"]: item for item in where_data(BASE, SRAM, 5)["buffers"]}
    assert (entries["v"]["inside"], entries["m"]["inside"]) == ("m", None)
    assert (entries["m"]["written"], entries["v"]["read"]) == (["conv"], ["relu"])


@pytest.mark.parametrize(("offset", "step"), [(256, None), (-1, None), (0, 2), (0, -1)])
def test_what_the_plan_does_not_have(offset: int, step: int | None) -> None:
    with pytest.raises(TilewrightError):
        where_data(BASE, L1, offset, step)


def test_bases_from_user_program_and_plan() -> None:
    symbols = {"net_pool_l1": 0x1000, "pool_sram": 0x2000, "net_flash": 0x3000}
    assert pool_bases(BASE, {}, symbols) == {"l1": 0x1000, "sram": 0x2000, "flash": 0x3000}
    pinned = replace(BASE, pools=(replace(L1, base=0x9000), SRAM, FLASH))
    assert pool_bases(pinned, {"sram": 7}, {}) == {"l1": 0x9000, "sram": 7}
    assert pool_bases(pinned, {"l1": 0}, symbols)["l1"] == 0


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "net_plan.json"
    path.write_text(dumps(BASE), encoding="utf-8")
    return str(path)


def test_the_command_line(plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["where", plan, "0x80400030", "--base", "l1=0x80400000", "--step", "conv"]) == 0
    assert capsys.readouterr().out == (
        "0x80400030 is l1:48 (0x30) at step 0\n"
        "  conv.y: tile of m, uint8[2, 3, 4], slot 0, element [0, 0, 0]\n"
        "    bytes [48, 96); step 0 (conv)\n"
    )
    assert main(["where", plan, "sram:0x10", "--step", "1"]) == 0
    text = capsys.readouterr().out
    assert "m: intermediate, uint8[4, 8, 4], element [0, 4, 0]" in text
    assert "steps 0 to 1 (conv to relu)\n    written by conv\n" in text
    assert "bytes [0, 128), inside m" in text
    assert main(["where", plan, "l1:200", "--step", "0"]) == 0
    assert "nothing lives there at step 0" in capsys.readouterr().out
    assert main(["where", plan, "l1:48", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["buffers"][0]["size_bytes"] == 48


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["0x10"], "--base l1=0x..., or --elf <program>"),
        (["0x10", "--base", "l1=0x80000000"], "no pool whose base is known (l1 [0x80000000, 0x80000100))"),
        (["l2:0"], "no pool 'l2'"),
        (["l1:x"], "'x' is no address"),
        (["l1:0", "--step", "cnv"], "did you mean 'conv'?"),
        (["0", "--base", "l1"], "<pool>=<address>"),
        (["0", "--elf", "absent"], "cannot read the program"),
        (["0", "--elf", __file__], "no ELF program"),
    ],
)
def test_mistakes(plan: str, words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["where", plan, *words]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("compiler", COMPILERS)
def test_symbols_are_those_of_nm(compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    source, program = tmp_path / "a.c", tmp_path / "a.elf"
    source.write_text("static int inner = 1; int outer[3]; int *far(void) { return &inner; }\n", encoding="utf-8")
    link = ["-shared", "-fPIC"] if compiler == "cc" else ["-nostdlib", "-Wl,-e,0"]
    subprocess.run([compiler, *link, "-o", str(program), str(source)], check=True)
    listing = subprocess.run([COMPILERS[compiler], str(program)], check=True, capture_output=True, text=True).stdout
    expected = {words[2]: int(words[0], 16) for words in map(str.split, listing.splitlines()) if len(words) == 3}
    symbols = symbol_addresses(program)
    assert {"inner", "outer", "far"} <= set(expected)
    assert {name: symbols[name] for name in expected} == expected


def test_a_program_that_is_cut_short(tmp_path: Path) -> None:
    program = tmp_path / "a.elf"
    program.write_bytes(b"\x7fELF\x01\x01" + bytes(10))
    with pytest.raises(TilewrightError, match="no ELF"):
        symbol_addresses(program)


def test_nothing_lives_in_a_gap() -> None:
    shifted = replace(BASE, placements=plans.shifted(BASE, {"conv.scratch": 200}))
    assert where_data(shifted, L1, 100, 0)["buffers"] == []
