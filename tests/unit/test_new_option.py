"""A new option is one field: files, command line, CMake, SCons, plan locks and the reference page follow from it."""

from __future__ import annotations

import argparse
import ast
import subprocess
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tilewright.base.errors import TilewrightError
from tilewright.base.settings import read, setting
from tilewright.base.toml_file import read_toml
from tilewright.options import CompileOptions, parse_setting, read_options_file
from tilewright.options.arguments import add_arguments, given_arguments, words_of
from tilewright.options.declaration import Place, option
from tilewright.options.lock_entries import locked_options
from tilewright.options.merging import build
from tilewright.platform import platform_file
from tilewright.platform.file import PLATFORM_CODES
from tilewright.platform.types import PlatformFile

ROOT = Path(__file__).parents[2]


class Frost(Enum):
    LIGHT = "light"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class Winter(CompileOptions):
    cold: int = field(
        default=3, metadata=option("how cold it is", place=Place.CALL, unit="degrees", minimum=1, maximum=9)
    )
    frost: Frost = field(default=Frost.LIGHT, metadata=option("how hard it freezes", place=Place.COMMAND_LINE))
    snow: bool = field(default=False, metadata=option("whether it snows", place=Place.CALL, in_lock=False))
    maps: tuple[str, ...] = field(
        default=(),
        metadata=option("where it snows", place=Place.CALL, word="map", file_suffix=".png", shown="<map.png>"),
    )
    roads: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=option("metres of snow", place=Place.CALL, word="road", by_name=True, listed=True, shown="<road>=<m>"),
    )


CALL = {"model": "net.onnx", "platform": "host"}
PLAIN = build(Winter, ("call", CALL))


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that writes keywords and the reference page."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import option_pages

    return option_pages


def test_defaults() -> None:
    assert (PLAIN.cold, PLAIN.frost, PLAIN.snow, PLAIN.maps, PLAIN.roads) == (3, Frost.LIGHT, False, (), ())


def test_options_file(tmp_path: Path) -> None:
    path = tmp_path / "options.toml"
    path.write_text('cold = 7\nfrost = "hard"\nsnow = true\nmaps = ["a.png", "b"]\nroads = { A1 = 5 }\n')
    found = build(Winter, ("call", CALL), (str(path), read_options_file(path, Winter)))
    assert (found.cold, found.frost, found.snow) == (7, Frost.HARD, True)
    assert (found.maps, found.roads) == ((str(tmp_path / "a.png"), "b"), (("A1", 5),))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cold = 10", "'cold' must be at most 9, not 10"),
        ("frost = 'soft'", "'frost' is 'soft', not one of light, hard"),
        ("snow = 1", "'snow' must be true or false, not 1"),
        ("roads = ['A1']", "'A1' is not <name>=<value>"),
        ("colt = 1", "unknown option 'colt'"),
    ],
)
def test_mistakes_in_a_file(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "options.toml"
    path.write_text(f"\n{text}\n")
    with pytest.raises(TilewrightError) as raised:
        read_options_file(path, Winter)
    assert raised.value.what == told
    assert raised.value.at[0].startswith(f"{path}:2: {text.partition(' ')[0]}")


def test_setting() -> None:
    assert build(Winter, ("call", CALL), ("--set", dict([parse_setting("cold=4")]))).cold == 4


def parsed(*words: str) -> Winter:
    parser = argparse.ArgumentParser()
    add_arguments(parser, Winter)
    return build(Winter, ("call", CALL), ("command line", given_arguments(parser.parse_args(words), Winter)))


def test_command_line() -> None:
    found = parsed("--cold", "7", "--frost=hard", "--snow", "--map", "a.png", "--map", "b", "--road", "A=1=5")
    assert (found.cold, found.frost, found.snow) == (7, Frost.HARD, True)
    assert (found.maps, found.roads) == (("a.png", "b"), (("A=1", 5),))
    assert parsed() == PLAIN
    with pytest.raises(TilewrightError, match=r"'cold' must be a whole number, not '7\.5'\n  at: command line: cold"):
        parsed("--cold", "7.5")


def test_help() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser, Winter)
    lines = [" ".join(line.split()) for line in parser.format_help().splitlines()]
    assert {"--cold <n> how cold it is", "--frost light|hard how hard it freezes", "--snow whether it snows"} <= {
        line.replace("COLD", "<n>").replace("--cold N", "--cold <n>") for line in lines
    }


def test_what_one_would_type_again() -> None:
    """A file or a table in the words that renew a lock, too."""
    for changes in (
        {"cold": 4, "frost": Frost.HARD, "snow": True, "maps": ("a b.png",), "roads": (("A=1", 2),)},
        {"hints": False, "freeze": Path("in puts.npz"), "operators": ("own.py", "package"), "dims": (("n", 3),)},
        {"tiles": (("conv", (("oc", 4), ("l2.oc", 8))), ("a b", (("oh", 1),)))},
        {"buffers": (("conv", (("weights", "", "double"), ("x", "l2", "single"), ("y", "l2", "auto"))),)},
        {"pools": ("l1=100@.fast",), "types": (("ä", "int8"),), "budget": (("l1", 50),), "plan_lock": Path("x.json")},
    ):
        wanted = replace(PLAIN, **changes)
        parser = argparse.ArgumentParser()
        add_arguments(parser, Winter)
        parser.add_argument("--set", action="append", default=[])
        found = parser.parse_args(words_of(wanted))
        settings = [("--set", dict([parse_setting(text)])) for text in found.set]
        assert build(Winter, *settings, ("command line", given_arguments(found, Winter))) == wanted


def test_plan_lock() -> None:
    assert locked_options(PLAIN) == {}
    assert locked_options(replace(PLAIN, cold=4, snow=True, roads=(("A1", 5),))) == {"cold": 4, "roads": [["A1", 5]]}


def test_cmake(pages: ModuleType, tmp_path: Path) -> None:
    """The signature and the parsing of the function, and what CMake makes of a call."""
    model = pages.model_cmake(pages.MODEL_CMAKE.read_text(encoding="utf-8"), Winter)
    assert "\n  [COLD <n>]                      how cold it is\n" in model
    assert "\n  [MAPS <map.png>...]             where it snows\n" in model
    assert "FROST" not in model
    assert ';SNOW"\n' in model
    (tmp_path / "TilewrightOptions.cmake").write_text(pages.options_cmake(Winter), encoding="utf-8")
    (tmp_path / "TilewrightModel.cmake").write_text(model.replace("define_property(", "set(ignored "), encoding="utf-8")
    script = """cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/TilewrightOptions.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/TilewrightModel.cmake)
set(arg_COLD 4)
set(arg_SNOW TRUE)
set(arg_MAPS a.png b)
set(arg_ROADS A1=5 A2=6)
set(CMAKE_CURRENT_SOURCE_DIR /here)
_tilewright_option_arguments(words files)
message("${words} ${files}")
"""
    (tmp_path / "call.cmake").write_text(script, encoding="utf-8")
    done = subprocess.run(["cmake", "-P", "call.cmake"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "--cold;4;--map;/here/a.png;--map=b;--road=A1=5;--road=A2=6;--snow /here/a.png"


def test_scons(pages: ModuleType) -> None:
    tree = ast.parse(pages.scons_tool(pages.SCONS.read_text(encoding="utf-8"), Winter))
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Dict, ast.Tuple)):
            found[ast.unparse(node.targets[0])] = ast.literal_eval(node.value)
    assert found["VALUES"]["COLD"] == "--cold"
    assert found["FLAGS"]["SNOW"] == "--snow"
    assert (found["LISTS"]["MAPS"], found["SUFFIXES"]["MAPS"]) == ("--map", ".png")
    assert found["REQUIRED"] == ("MODEL", "PLATFORM")
    assert not any("FROST" in value for value in found.values())


def test_reference_page(pages: ModuleType) -> None:
    text = pages.options_page(Winter)
    assert "| `cold` | degrees: 1 to 9 | 3 | `--cold` | `COLD` | how cold it is |" in text
    assert "| `frost` | `light`, `hard` | `light` | `--frost` |  | how hard it freezes |" in text
    assert "`block`, `strips` and `roads` are merged name by name" in text
    assert "`plan_lock` and `snow`" in text


@dataclass(frozen=True, slots=True)
class Weather:
    wind: float = field(metadata=setting("how fast it blows", unit="knots", above_zero=True))
    mast: str | None = field(default=None, metadata=setting("where it is measured", none="none"))


@dataclass(frozen=True, slots=True)
class Ship(PlatformFile):
    weather: tuple[Weather, ...] = field(default=(), metadata=setting("what comes"))


def test_key_of_a_platform_file(pages: ModuleType, tmp_path: Path) -> None:
    """A table of a platform file is a dataclass, a key a field: reading and reference follow."""
    from setting_pages import platform_keys

    text = platform_file("host").read_text(encoding="utf-8")
    path = tmp_path / "ship.toml"
    path.write_text(f"{text}\n[[weather]]\nwind = 3\n", encoding="utf-8")
    assert read(read_toml(path, PLATFORM_CODES), Ship).weather == (Weather(3.0),)
    path.write_text(f"{text}\n[[weather]]\nwind = 0\n", encoding="utf-8")
    with pytest.raises(TilewrightError, match="'wind' must be a finite number above 0, not 0") as raised:
        read(read_toml(path, PLATFORM_CODES), Ship)
    assert raised.value.at == (f"{path}:{len(text.splitlines()) + 3}: weather[0].wind",)
    rows = platform_keys(Ship).splitlines()
    assert "| **[[weather]]** |  | optional | what comes |" in rows
    assert "| `wind` | knots: above 0 | required | how fast it blows |" in rows
    assert '| `mast` | text, or `"none"` | none | where it is measured |' in rows


def test_written_files_are_those_of_the_options(pages: ModuleType) -> None:
    """The deliberate failure: with one field more, each of them is out of date."""
    for path, text in pages.option_files().items():
        assert path.read_text(encoding="utf-8") == text, f"scripts/reference_pages.py writes {path} anew"
    for path, text in pages.option_files(Winter).items():
        assert path.read_text(encoding="utf-8") != text
