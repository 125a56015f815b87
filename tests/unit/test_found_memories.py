"""Platform files from linker scripts and devicetrees."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from tilewright.base.errors import TilewrightError
from tilewright.cli.main import main
from tilewright.platform import load_platform
from tilewright.tools.found_memories import Memory, platform_text
from tilewright.tools.linker_memories import linker_memories

SCRIPT = """
/* MEMORY { NOT (rw) : ORIGIN = 1, LENGTH = 2 } */
_stack = 2K;
_end_of_ram = ORIGIN(nothing) + 1;
MEMORY
{
  FLASH (rx)      : ORIGIN = 0x08000000, LENGTH = 512K
  DTCM-RAM (rw!x) : ORIGIN = 0x20000000, LENGTH = (64K - _stack)
  RAM (xrw)       : org = ORIGIN(DTCM-RAM) + 0x10000, len = 96 * 1024 - (1 << 4)
  ROM (r!w)       : o = 0, l = 0x1000
}
SECTIONS { .text : { *(.text) } > FLASH }
"""
TREE = """
/dts-v1/;
/ {
    #address-cells = <1>;
    #size-cells = <1>;
    soc {
        #address-cells = <1>;
        #size-cells = <1>;
        sram0: memory@20000000 { compatible = "mmio-sram"; reg = <0x20000000 0x40000>; };
        dtcm: memory@10000000 { compatible = "arm,dtcm"; reg = <0x10000000 0x4000>; status = "disabled"; };
        flash0: flash@8000000 { compatible = "soc-nv-flash"; reg = <0x8000000 0x80000>; };
        sram1: memory@20040000 {
            compatible = "zephyr,memory-region", "mmio-sram";
            reg = <0x20040000 0x8000>;
            zephyr,memory-region = "SRAM-1";
        };
        uart0: serial@40000000 { compatible = "st,stm32-uart"; reg = <0x40000000 0x400>; };
    };
    wide {
        #address-cells = <2>;
        #size-cells = <2>;
        memory@100000000 { device_type = "memory"; reg = <1 0 0 0x100000>; };
    };
};
"""
DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"

needs_devicetree = pytest.mark.skipif(find_spec("devicetree") is None, reason="needs the package devicetree")


def script(folder: Path, text: str = SCRIPT) -> Path:
    path = folder / "board.ld"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_memories_of_a_linker_script(tmp_path: Path) -> None:
    assert linker_memories(script(tmp_path)) == (
        Memory("FLASH", 0x08000000, 512 << 10, False),
        Memory("DTCM-RAM", 0x20000000, 62 << 10, True),
        Memory("RAM", 0x20010000, (96 << 10) - 16, True),
        Memory("ROM", 0, 0x1000, False),
    )


def test_names_decide_where_a_script_gives_no_attributes(tmp_path: Path) -> None:
    text = "MEMORY { flash : ORIGIN = 0, LENGTH = 1M ram : ORIGIN = 0x2000, LENGTH = 8K irom_seg : org = 1, len = 2 }"
    assert [item.writable for item in linker_memories(script(tmp_path, text))] == [False, True, False]


@pytest.mark.parametrize("source", ["--from-linker-script", pytest.param("--from-devicetree", marks=needs_devicetree)])
def test_a_model_is_planned_for_the_platform(source: str, tmp_path: Path) -> None:
    path = script(tmp_path, SCRIPT if "script" in source else TREE)
    board = tmp_path / "board.toml"
    assert main(["platform", source, str(path), "--output", str(board)]) == 0
    pools = {pool.name: pool.size_bytes for pool in load_platform(str(board)).pools}
    if "script" in source:
        assert pools == {"ram": (96 << 10) - 16, "dtcm_ram": 62 << 10, "flash": 512 << 10, "rom": 0x1000}
    else:
        assert pools == {"memory": 1 << 20, "sram0": 256 << 10, "sram1": 32 << 10, "flash0": 512 << 10}
        sections = {pool.name: pool.section for pool in load_platform(str(board)).pools}
        assert sections == {"memory": None, "sram0": None, "sram1": "SRAM_1", "flash0": None}, "as Zephyr writes it"
    assert main(["plan", "--model", str(DIGITS), "--platform", str(board), "--output", str(tmp_path / "p.json")]) == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SECTIONS { }", "names no memories"),
        ("MEMORY { RAM (rw) : ORIGIN = 0, LENGTH = CONFIG_SIZE }", "'CONFIG_SIZE' cannot be computed"),
        ("MEMORY { RAM (rw) : ORIGIN = 0, LENGTH = 1 << 9999 }", "cannot be computed"),
        ("MEMORY { RAM (rw) : ORIGIN = 0, LENGTH = 4K / 0 }", "cannot be computed"),
        ("MEMORY { RAM (rw) : ORIGIN = 0, LENGTH = 1K - 2K }", "-1024 bytes"),
        ("MEMORY { FLASH (rx) : ORIGIN = 0, LENGTH = 4K }", "no memory that can be written"),
    ],
)
def test_what_is_missing_in_a_script_is_told(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["platform", "--from-linker-script", str(script(tmp_path, text))]) == 2
    assert told in capsys.readouterr().err


@needs_devicetree
def test_a_file_that_is_no_devicetree_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["platform", "--from-devicetree", str(script(tmp_path))]) == 2
    assert "zephyr.dts" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--platform", "host", "--output", "host.toml"],
        ["--from-linker-script", "board.ld", "--pool", "ram=4096"],
        ["--from-linker-script", "board.ld", "--output-dir", "board"],
    ],
)
def test_arguments_without_effect_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["platform", *words]) == 2
    assert "error[usage]" in capsys.readouterr().err


def test_names_of_pools_are_what_c_allows_and_differ() -> None:
    found = [Memory(name, 0, 64, True) for name in ("RAM-1", "RAM 1", "int", "__x")]
    text = platform_text("my board!", "a.ld", found)
    assert 'name = "my-board"' in text
    assert all(f'name = "{name}"' in text for name in ("ram_1", "ram_1_2", "t_int", "x"))


def test_a_missing_script_is_told(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match="cannot be read"):
        linker_memories(tmp_path / "none.ld")
