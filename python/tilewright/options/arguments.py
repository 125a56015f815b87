"""Options on the command line: the arguments, what was given with them, and how one would type options again."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from tilewright.base.settings import Key, choices_of, keys_of
from tilewright.options.compile_options import CompileOptions
from tilewright.options.declaration import Place, argument_of, is_repeated, must_be_given, option_of, plain_help


def add_arguments(parser: argparse.ArgumentParser, kind: type = CompileOptions) -> None:
    """An argument for each option that the command line takes."""
    for key in keys_of(kind):
        if option_of(key).place is Place.FILE:
            continue
        plain: dict[str, Any] = {"dest": key.field, "help": _help(key)}
        if key.type is bool:
            parser.add_argument(argument_of(key), action="store_true", default=None, **plain)
        elif is_repeated(key):
            parser.add_argument(argument_of(key), action="append", metavar=_metavar(key), **plain)
        else:
            parser.add_argument(argument_of(key), metavar=_metavar(key), **plain)


def given_arguments(parsed: argparse.Namespace, kind: type = CompileOptions) -> dict[str, Any]:
    """Key to value of the options that were on the command line; ``build_options`` validates them."""
    values = [(key, getattr(parsed, key.field, None)) for key in keys_of(kind)]
    return {key.name: _number_of(key, value) for key, value in values if value is not None}


def _number_of(key: Key, value: Any) -> Any:
    """The value as a number if the option is one; a text that is no number stays, for ``build_options`` to refuse."""
    try:
        return key.type(value) if key.type in (int, float) else value
    except ValueError:
        return value


def _help(key: Key) -> str:
    absent = f"; {key.setting.default} if absent" if key.setting.default else ""
    return (plain_help(key) + absent).replace("%", "%%")


def _metavar(key: Key) -> str:
    """``<pool>=<bytes>`` as POOL=BYTES, ``<name|file.toml>`` as NAME|FILE.toml."""
    return re.sub(r"<([^>]*)>", lambda found: _capitals(found[1]), shown_value(key))


def _capitals(words: str) -> str:
    """Alternatives, each in capitals up to its dot: ``name|file.toml`` becomes ``NAME|FILE.toml``."""
    return re.sub(r"(?:^|(?<=\|))[^.|]*", lambda found: found[0].upper(), words)


def shown_value(key: Key) -> str:
    """One value, as it is shown behind a keyword or an argument: ``auto|single|double``, ``<pool>=<bytes>``."""
    if key.setting.shown:
        return key.setting.shown
    if key.setting.choices:
        return "|".join(map(str, key.setting.choices))
    if isinstance(key.type, type) and issubclass(key.type, Enum):
        return "|".join(choices_of(key.type))
    return {int: "<n>", float: "<number>", Path: "<file>"}.get(key.type, f"<{option_of(key).word or key.name}>")


def words_of(options: CompileOptions) -> list[str]:
    """The arguments with which one would type these options; defaults are left out."""
    keys = keys_of(type(options))
    given = [(key, getattr(options, key.field)) for key in keys]
    return [word for key, value in given if must_be_given(key) or value != key.default for word in _words(key, value)]


def _words(key: Key, value: Any) -> Iterator[str]:
    if option_of(key).place is Place.FILE or value is False:
        yield from ("--set", f"{key.name}={_toml(value)}")
    elif value is True:
        yield argument_of(key)
    elif is_repeated(key):
        for entry in value:
            yield from (argument_of(key), entry if isinstance(entry, str) else f"{entry[0]}={entry[1]}")
    else:
        yield from (argument_of(key), str(value.value if isinstance(value, Enum) else value))


def _toml(value: Any) -> str:
    """A value as TOML on one line. Pairs are inline tables; (operand, pool, slots) stand in the table of their pool."""
    if isinstance(value, Enum):
        return str(value.value)
    if not isinstance(value, tuple):
        return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
    if isinstance(value[0], str):
        return "[" + ", ".join(map(_toml, value)) + "]"
    pairs = _by_pool(value) if len(value[0]) == 3 else value
    return "{" + ", ".join(f"{_toml(name)} = {_toml(inner)}" for name, inner in pairs) + "}"


def _by_pool(slots: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, Any], ...]:
    near = [(operand, how) for operand, pool, how in slots if not pool]
    pools = dict.fromkeys(pool for _, pool, _ in slots if pool)
    far = [(pool, tuple((operand, how) for operand, other, how in slots if other == pool)) for pool in pools]
    return (*near, *far)
