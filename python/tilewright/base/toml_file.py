"""Typed reading of a TOML file: every wrong value is an error with file, line and key."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.base.errors import TilewrightError, bad_input, suggestion
from tilewright.base.inputs import read_utf8
from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.toml_lines import KeyPath, key_lines, line_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


_MOST_PARTS = 100
_LONG_KEY = re.compile(rf"^[ \t\[]*(?:[\w\"'-]+[ \t]*\.[ \t]*){{{_MOST_PARTS}}}", re.MULTILINE)
"""Keys that would take more memory than the square of their length."""


@dataclass(frozen=True, slots=True)
class Codes:
    """Codes of the errors in files of one kind.

    Attributes:
        file: the file cannot be read.
        syntax: it is not TOML.
        key: it has a key that is not known.
        value: a key has a wrong value.
        missing: a key that must be there is not.
        word: what a key is called in messages.
    """

    file: str
    syntax: str
    key: str
    value: str
    missing: str
    word: str = "key"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a TOML file, with where it stands; or values that were given elsewhere.

    The methods that are named after a type return the checked value of a key, which must be there.

    Attributes:
        codes: the codes of all errors.
        source: the file, or another place where values are given (``command line``).
        lines: the line of each key; None if the source is no file.
        path: keys from the root to this table.
        values: what the table has.
    """

    codes: Codes
    source: str
    lines: dict[KeyPath, int] | None
    path: KeyPath
    values: Mapping[str, Any]

    def place(self, *keys: str | int) -> str:
        """Where a key (a path of keys) of this table stands, or the table itself: ``chip.toml:3: core.count``."""
        path = (*self.path, *keys)
        source = self.source if self.lines is None else f"{self.source}:{line_of(self.lines, path)}"
        return f"{source}: {key_text(path)}" if path else source

    def wrong(self, what: str, *keys: str | int, help: str | tuple[str, ...] = ()) -> TilewrightError:
        """The error for a value that cannot be right."""
        return bad_input(self.codes.value, what, at=self.place(*keys), help=help)

    def missing(self, what: str, *keys: str | int) -> TilewrightError:
        """The error for something that must be there."""
        return bad_input(self.codes.missing, what, at=self.place(*keys))

    def only(self, known: Sequence[str]) -> None:
        """Refuse keys that are not known, with the nearest known one suggested."""
        for key in self.values:
            if key not in known:
                place, remedy = self.place(key), suggestion(key, known)
                raise bad_input(self.codes.key, f"unknown {self.codes.word} '{key}'", at=place, help=remedy)

    def must_be(self, key: str, expected: str) -> TilewrightError:
        """The error for a value of the wrong kind or size."""
        return self.wrong(f"'{key}' must be {expected}, not {_shown(self.values[key])}", key)

    def text(self, key: str) -> str:
        """A text that is not empty."""
        value = self.values[key]
        if not isinstance(value, str) or not value:
            raise self.must_be(key, "a text that is not empty")
        return value

    def choice(self, key: str, choices: Sequence[Any]) -> Any:
        """One of some texts or numbers."""
        value = self.values[key]
        if isinstance(value, bool) or value not in choices:
            names = list(map(str, choices))
            remedy = suggestion(str(value), names)
            raise self.wrong(f"'{key}' is {_shown(value)}, not one of {', '.join(names)}", key, help=remedy)
        return value

    def integer(self, key: str, minimum: float = 0, maximum: float = 2**63 - 1) -> int:
        """A whole number in a range."""
        value = self.values[key]
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.must_be(key, "a whole number")
        if not minimum <= value <= maximum:
            raise self.must_be(key, f"at least {minimum}" if value < minimum else f"at most {maximum}")
        return value

    def number(self, key: str, *, above_zero: bool = False) -> float:
        """A finite number of at least 0, or above it."""
        value = self.values[key]
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise self.must_be(key, "a number")
        if not math.isfinite(value) or value < 0 or (above_zero and value == 0):
            raise self.must_be(key, f"a finite number {'above 0' if above_zero else 'that is not negative'}")
        return float(value)

    def boolean(self, key: str) -> bool:
        """True or false."""
        value = self.values[key]
        if not isinstance(value, bool):
            raise self.must_be(key, "true or false")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, none of them empty."""
        value = self.values[key]
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) and item for item in value):
            raise self.must_be(key, "a list of texts")
        return tuple(value)

    def table(self, key: str) -> Table:
        """A table inside this one."""
        value = self.values[key]
        if not isinstance(value, Mapping):
            raise self.must_be(key, "a table")
        return replace(self, path=(*self.path, key), values=value)

    def tables(self, key: str) -> tuple[Table, ...]:
        """An array of tables; none if the key is missing."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self.must_be(key, f"written as [[{key}]]")
        path = (*self.path, key)
        return tuple(replace(self, path=(*path, index), values=item) for index, item in enumerate(value))


def read_toml(path: Path, codes: Codes) -> Table:
    """The root table of a file. Raises bad_input for a missing, unreadable or broken file."""
    return table_of(toml_text(path, codes), path, codes)


def toml_text(path: Path, codes: Codes) -> str:
    """The text of a file. Raises bad_input for a missing or unreadable file."""
    try:
        return read_utf8(path)
    except OSError as error:
        raise bad_input(codes.file, f"cannot read the file: {error.strerror or error}", at=str(path)) from error
    except UnicodeDecodeError as error:
        raise bad_input(codes.syntax, "the file is not UTF-8 text", at=str(path)) from error


def table_of(text: str, path: Path, codes: Codes) -> Table:
    """The root table of the text of the file at ``path``. Raises bad_input for a broken file."""
    if _LONG_KEY.search(text):
        raise bad_input(codes.syntax, f"a key has more than {_MOST_PARTS} parts", at=str(path))
    try:
        values = tomllib.loads(text)
        lines = key_lines(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = f"{path}:{line[1]}" if line else str(path)
        raise bad_input(codes.syntax, f"the file is not TOML: {error}", at=place) from error
    except RecursionError:
        raise bad_input(codes.syntax, "lists or tables are nested too deeply", at=str(path)) from None
    return Table(codes, str(path), lines, (), values)


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
