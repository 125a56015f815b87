"""From the places where options are given to ``CompileOptions``.

Later places win: defaults, the options file, ``--set``, the command line. Every value is validated here,
wherever it was given, so that the stages behind get enums and numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from tilewright.base.c_names import c_prefix
from tilewright.base.errors import bad_input
from tilewright.base.settings import Key, keys_of, read_given
from tilewright.base.toml_file import Table, read_toml
from tilewright.options.compile_options import CompileOptions
from tilewright.options.declaration import OPTION_CODES, argument_of, must_be_given, option_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T", bound=CompileOptions)


def build_options(*places: tuple[str, Mapping[str, Any]]) -> CompileOptions:
    """Merge what was given, each (where, key to value), the later ones winning.

    Raises bad_input for an unknown key, a wrong value, or a missing model or platform.
    """
    return build(CompileOptions, *places)


def build(kind: type[T], *places: tuple[str, Mapping[str, Any]]) -> T:
    """``build_options`` for options with further fields; raises the same errors."""
    merged: dict[str, Any] = {}
    for place, values in places:
        given = read_given(Table(OPTION_CODES, place, None, (), values), kind)
        for key in keys_of(kind):
            if key.field in given:
                merged[key.field] = _merged(key, merged.get(key.field, ()), given[key.field])
    for key in keys_of(kind):
        if must_be_given(key) and key.field not in merged:
            remedy = f"{argument_of(key)} <{key.name}>, or '{key.name}' in the options file"
            raise bad_input("missing-option", f"no {key.name} was given", help=remedy)
    merged.setdefault("name", c_prefix(merged["model"].stem))
    return kind(**merged)


def _merged(key: Key, earlier: Any, later: Any) -> Any:
    """Entries by their names, where the option is merged: the first of a pair, or a text up to its '='."""
    if not option_of(key).by_name:
        return later
    named = {entry.partition("=")[0] if isinstance(entry, str) else entry[0]: entry for entry in (*earlier, *later)}
    return tuple(named.values())


def read_options_file(path: Path, kind: type = CompileOptions) -> dict[str, Any]:
    """The keys of an options file; files that it names are relative to its folder.

    Raises bad_input for a missing file, broken TOML, an unknown key or a wrong value, each with its line.
    """
    table = read_toml(path, OPTION_CODES)
    read_given(table, kind)
    values = dict(table.values)
    for key in keys_of(kind):
        if key.name not in values:
            continue
        if key.type is Path:
            values[key.name] = str(path.parent / values[key.name])
        elif option_of(key).file_suffix:
            values[key.name] = _beside(path.parent, option_of(key).file_suffix, values[key.name])
    return values


def _beside(folder: Path, suffix: str, value: Any) -> Any:
    """A text, or each of a list, with the folder before it where it is a file."""
    if isinstance(value, list):
        return [_beside(folder, suffix, item) for item in value]
    return str(folder / value) if value.endswith(suffix) else value


def parse_setting(text: str) -> tuple[str, Any]:
    """``key=value`` of ``--set``; the value is TOML, or else a text. Raises bad_input."""
    key, separator, value = text.partition("=")
    if not separator:
        raise bad_input("bad-setting", f"'{text}' is not <key>=<value>", at="--set")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value
    except RecursionError:
        raise bad_input("bad-setting", f"the value of '{key}' is nested too deeply", at="--set") from None
