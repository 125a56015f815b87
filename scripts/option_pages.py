# SPDX-License-Identifier: Apache-2.0
"""Writes what follows from the options outside Python: docs/reference/options.md, keywords of CMake and of SCons.

Files that are otherwise written by hand have regions that are written here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from setting_pages import default_text, value_text
from tilewright.base.settings import Key, keys_of
from tilewright.options import CompileOptions
from tilewright.options.arguments import shown_value
from tilewright.options.declaration import Place, argument_of, option_of
from tilewright.options.keywords import Keyword, Passing, file_keys, keywords

ROOT = Path(__file__).resolve().parents[1]
HEAD = "<!-- Written by scripts/reference_pages.py. -->\n"
MODEL_CMAKE = ROOT / "cmake" / "TilewrightModel.cmake"
OPTIONS_CMAKE = ROOT / "cmake" / "TilewrightOptions.cmake"
SCONS = ROOT / "python" / "tilewright" / "scons" / "tilewright.py"

LINE_LENGTH = 100
"""That of .gersemirc."""
OWN_VALUES = ("OPTIONS", "PORT", "OUTPUT_DIRECTORY")
OWN_LISTS = ("OPERATOR_SOURCES",)
"""Keywords of tilewright_add_model that are no options of the compiler."""

INTRODUCTION = """\
# Options

An option has one name: a key of the options file (OPTIONS of a call, `--options` of the command line), and of `--set \
<key>=<value>`. Most have an argument on the command line too, and a keyword in `tilewright_add_model` and in SCons' \
`TilewrightModel`. What a call or the command line says wins over `--set`, which wins over the file. Files that an \
options file names are relative to its folder.

Every value is checked: an error names the place, in a file with its line, and an unknown key is refused with the \
nearest known one.
"""


def options_page(kind: type = CompileOptions) -> str:
    """All options, with where each can be given."""
    keys = keys_of(kind)
    lines = [HEAD, INTRODUCTION]
    lines += ["| key | value | default | command line | keyword | meaning |", "|---|---|---|---|---|---|"]
    lines += [_row(key) for key in keys]
    merged = _listed(key for key in keys if option_of(key).by_name)
    others = _listed(key for key in keys if not option_of(key).in_lock)
    lines.append(f"\n{merged} are merged name by name; of the others the place counts that wins.")
    lines.append(
        f"\nA [plan lock](cmake.md#the-plan-lock) records those that are not the default, but not {others}: where the "
        "plan depends on these, it records what they lead to.\n"
    )
    return "\n".join(lines)


def _row(key: Key) -> str:
    place = option_of(key).place
    argument = "" if place is Place.FILE else f"`{argument_of(key)}`"
    keyword = f"`{key.name.upper()}`" if place is Place.CALL else ""
    return f"| `{key.name}` | {_value(key)} | {default_text(key)} | {argument} | {keyword} | {key.setting.help} |"


def _value(key: Key) -> str:
    if key.setting.listed:
        name, _, value = shown_value(key).replace("<", "").replace(">", "").partition("=")
        return f"table: {name} = {value}"
    return value_text(key)


def _listed(keys: Iterable[Key]) -> str:
    names = [f"`{key.name}`" for key in keys]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def options_cmake(kind: type = CompileOptions) -> str:
    """The CMake file that tells keywords of options apart."""
    words = keywords(kind)
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        "# Written by scripts/reference_pages.py, from the options that python/tilewright/options declares.",
        "include_guard(GLOBAL)",
        "",
        "# Sets in the caller's scope the keywords of options by what they take: <prefix>_FLAG, _VALUE, _FILE",
        "# and _LIST; those that every call has, <prefix>_REQUIRED; their arguments on the command line,",
        "# <prefix>_ARGUMENT_<keyword>; how values end that are files, <prefix>_SUFFIX_<keyword>; and the keys of",
        "# an options file that name files, <prefix>_FILE_KEYS.",
        "function(_tilewright_option_keywords prefix)",
    ]
    for passing in Passing:
        lines += _set_list(passing.name, _names(words, passing))
    lines += _set_list("REQUIRED", [word.name for word in words if word.is_required])
    lines += [f"  set(${{prefix}}_ARGUMENT_{word.name} {word.argument} PARENT_SCOPE)" for word in words]
    suffixes = [(word.name, word.file_suffix) for word in words if word.file_suffix]
    lines += [f"  set(${{prefix}}_SUFFIX_{name} {suffix} PARENT_SCOPE)" for name, suffix in suffixes]
    lines += _set_list("FILE_KEYS", file_keys(kind))
    return "\n".join([*lines, "endfunction()", ""])


def _set_list(name: str, names: Iterable[str]) -> list[str]:
    """The lines that set a list in the caller's scope, as gersemi lays them out: on one line where there is room."""
    words = [f"${{prefix}}_{name}", f'"{";".join(names)}"', "PARENT_SCOPE"]
    line = f"  set({' '.join(words)})"
    return [line] if len(line) <= LINE_LENGTH else ["  set(", *(f"    {word}" for word in words), "  )"]


def model_cmake(text: str, kind: type = CompileOptions) -> str:
    """TilewrightModel.cmake with the keywords of options in the signature and the parsing of tilewright_add_model."""
    words = keywords(kind)
    usage = "".join(f"{_usage(word)}\n" for word in words)
    first = "#[[\ntilewright_add_model(<target>\n"
    text = _between(text, first, "  [OPTIONS ", usage)
    lists = [
        ";".join(_names(words, Passing.FLAG)),
        ";".join([*_names(words, Passing.VALUE), *_names(words, Passing.FILE), *OWN_VALUES]),
        ";".join([*_names(words, Passing.LIST), *OWN_LISTS]),
    ]
    begin = 'function(tilewright_add_model target)\n  set(caller "tilewright_add_model(${target})")\n'
    call = "".join(f'    "{words}"\n' for words in lists)
    return _between(text, f"{begin}  cmake_parse_arguments(\n    PARSE_ARGV 1\n    arg\n", "  )\n", call)


def _usage(word: Keyword) -> str:
    """A line of the signature: the keyword with what it takes, and what it means."""
    return f"  {word.usage:<31} {word.help}"


def scons_tool(text: str, kind: type = CompileOptions) -> str:
    """The SCons tool with the keywords of options."""
    words = keywords(kind)
    lines = []
    for passing in Passing:
        lines += _dictionary(
            f"{passing.name}S", {word.name: word.argument for word in words if word.passing is passing}
        )
    lines += _dictionary("SUFFIXES", {word.name: word.file_suffix for word in words if word.file_suffix})
    required = ", ".join(f'"{word.name}"' for word in words if word.is_required)
    lines.append(f"REQUIRED = ({required})\n")
    begin = "# Keywords of options and their arguments; scripts/reference_pages.py writes them.\n"
    return _between(text, begin, "# End of the keywords of options.\n", "".join(lines))


def _dictionary(name: str, items: dict[str, str]) -> list[str]:
    return [f"{name} = {{\n", *(f'    "{key}": "{value}",\n' for key, value in items.items()), "}\n"]


def _names(words: Iterable[Keyword], passing: Passing) -> list[str]:
    return [word.name for word in words if word.passing is passing]


def _between(text: str, begin: str, end: str, content: str) -> str:
    pattern = f"({re.escape(begin)}).*?({re.escape(end)})"
    found = re.findall(pattern, text, re.DOTALL)
    assert len(found) == 1, f"{len(found)} places between '{begin}' and '{end}'"
    return re.sub(pattern, lambda match: f"{match[1]}{content}{match[2]}", text, flags=re.DOTALL)


def option_files(kind: type = CompileOptions) -> dict[Path, str]:
    """All files, with what they should say."""
    return {
        ROOT / "docs" / "reference" / "options.md": options_page(kind),
        OPTIONS_CMAKE: options_cmake(kind),
        MODEL_CMAKE: model_cmake(MODEL_CMAKE.read_text(encoding="utf-8"), kind),
        SCONS: scons_tool(SCONS.read_text(encoding="utf-8"), kind),
    }
