"""Typed reading of a TOML file: every wrong value is an error with file, line and key."""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.toml_lines import KeyPath, key_lines, line_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a TOML file, with where it stands.

    The methods return checked values; without ``default`` a missing key is an error. All
    errors have a code that begins with ``kind``.
    """

    kind: str
    file: str
    lines: dict[KeyPath, int]
    path: KeyPath
    values: Mapping[str, Any]

    def error(self, code: str, what: str, *keys: str | int, help: str | tuple[str, ...] = ()) -> TilewrightError:
        """An error at a key (a path of keys) of this table, or at the table itself."""
        path = (*self.path, *keys)
        place = f"{self.file}:{line_of(self.lines, path)}"
        return bad_input(f"{self.kind}-{code}", what, at=f"{place}: {key_text(path)}" if path else place, help=help)

    def only(self, *known: str) -> None:
        """Refuse keys that are not known, with the nearest known one suggested."""
        for key in self.values:
            if key not in known:
                raise self.error("key", f"unknown key '{key}'", key, help=suggestion(key, known))

    def has(self, key: str) -> bool:
        """Whether the key is given."""
        return key in self.values

    def string(self, key: str, default: str | None = None) -> str:
        """A string that is not empty."""
        value = self._get(key, default)
        if not isinstance(value, str) or not value:
            raise self._wrong(key, "a string that is not empty", value)
        return value

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """One of some strings."""
        value = self.string(key, default)
        if value not in choices:
            raise self.error("value", f"'{key}' is '{value}'", key, help=suggestion(value, choices))
        return value

    def integer(self, key: str, default: int | None = None, minimum: int = 0, maximum: int = 2**63 - 1) -> int:
        """A whole number in a range."""
        value = self._get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(key, "a whole number", value)
        if not minimum <= value <= maximum:
            limit = f"at least {minimum}" if value < minimum else f"at most {maximum}"
            raise self._wrong(key, limit, value)
        return value

    def power_of_two(self, key: str, default: int | None = None, zero: bool = False) -> int:
        """A power of two (or 0, if ``zero``)."""
        value = self.integer(key, default, minimum=0 if zero else 1)
        if value & (value - 1):
            raise self._wrong(key, "a power of two", value)
        return value

    def positive(self, key: str, default: float | None = None) -> float:
        """A finite number above 0."""
        value = self._get(key, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise self._wrong(key, "a number", value)
        if not math.isfinite(value) or value <= 0:
            raise self._wrong(key, "a finite number above 0", value)
        return float(value)

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number that is not negative."""
        value = self._get(key, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise self._wrong(key, "a number", value)
        if not math.isfinite(value) or value < 0:
            raise self._wrong(key, "a finite number that is not negative", value)
        return float(value)

    def boolean(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return value

    def strings(self, key: str, default: tuple[str, ...] | None = None, *, empty: bool = False) -> tuple[str, ...]:
        """A list of strings."""
        value = self._get(key, default)
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) and item for item in value):
            raise self._wrong(key, "a list of strings", value)
        if not value and not empty:
            raise self._wrong(key, "a list with at least one string", value)
        return tuple(value)

    def table(self, key: str, default: Mapping[str, Any] | None = None) -> Table:
        """A table inside this one."""
        value = self._get(key, default)
        if not isinstance(value, dict):
            raise self._wrong(key, "a table", value)
        return Table(self.kind, self.file, self.lines, (*self.path, key), value)

    def tables(self, key: str) -> tuple[Table, ...]:
        """An array of tables; none if the key is missing."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self._wrong(key, f"written as [[{key}]]", value)
        path = (*self.path, key)
        return tuple(Table(self.kind, self.file, self.lines, (*path, i), item) for i, item in enumerate(value))

    def _get(self, key: str, default: Any) -> Any:
        if key in self.values:
            return self.values[key]
        if default is None:
            raise self.error("missing", f"'{key}' is missing", key)
        return default

    def _wrong(self, key: str, expected: str, value: Any) -> TilewrightError:
        return self.error("value", f"'{key}' must be {expected}, not {_shown(value)}", key)


def read_toml(path: Path, kind: str) -> Table:
    """The root table of a file. Raises bad_input for a missing, unreadable or broken file."""
    try:
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise bad_input(f"{kind}-file", f"cannot read the file: {error.strerror or error}", at=str(path)) from error
    except UnicodeDecodeError as error:
        raise bad_input(f"{kind}-syntax", "the file is not UTF-8 text", at=str(path)) from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = f"{path}:{line[1]}" if line else str(path)
        raise bad_input(f"{kind}-syntax", f"the file is not TOML: {error}", at=place) from error
    return Table(kind, str(path), key_lines(text), (), values)


def suggestion(name: str, known: Iterable[str]) -> str:
    """The remedy for a misspelt name: the nearest known one, or all that there are."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"known: {', '.join(names)}" if names else "none is defined"


def key_text(path: KeyPath) -> str:
    """A path as it would be written in code: ``pool[1].size_bytes``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}'"
    return "a table" if isinstance(value, dict) else str(value)
