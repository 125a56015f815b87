"""The line on which each key of a TOML text stands, so that errors can name it.

The scanner expects text that ``tomllib`` has accepted; it never judges the text itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right

KeyPath = tuple[str | int, ...]
"""Keys from the root; elements of arrays (of tables) are counted from 0."""

_TRIVIA = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


def key_lines(text: str) -> dict[KeyPath, int]:
    """Line (counted from 1) of every key, table header and array element of valid TOML."""
    return _Scanner(text).scan()


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """The line of a path, or of the nearest table around it; 1 if nothing around it has a line."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._lines: dict[KeyPath, int] = {}
        self._tables: dict[KeyPath, int] = {}
        """Number of elements seen of each array of tables."""

    def scan(self) -> dict[KeyPath, int]:
        prefix: KeyPath = ()
        self._skip(_TRIVIA)
        while self._position < len(self._text):
            if self._text[self._position] == "[":
                prefix = self._header()
            else:
                self._assignment(prefix)
            self._skip(_TRIVIA)
        return self._lines

    def _header(self) -> KeyPath:
        line = self._line()
        is_array = self._text.startswith("[[", self._position)
        self._position += 2 if is_array else 1
        path = self._within_arrays(self._key())
        self._position += 2 if is_array else 1
        if is_array:
            self._lines.setdefault(path, line)
            index = self._tables.get(path, 0)
            self._tables[path] = index + 1
            path = (*path, index)
        self._lines[path] = line
        return path

    def _within_arrays(self, key: KeyPath) -> KeyPath:
        """The path that a header means: inside an array of tables, its latest element."""
        path: KeyPath = ()
        for part in key[:-1]:
            path = (*path, part)
            if path in self._tables:
                path = (*path, self._tables[path] - 1)
        return (*path, key[-1])

    def _assignment(self, prefix: KeyPath) -> None:
        line = self._line()
        path = prefix
        for part in self._key():
            path = (*path, part)
            self._lines.setdefault(path, line)
        self._position += 1  # the equals sign
        self._skip(_BLANK)
        self._value(path)

    def _key(self) -> KeyPath:
        parts: list[str] = []
        while True:
            self._skip(_BLANK)
            parts.append(self._key_part())
            self._skip(_BLANK)
            if self._text[self._position] != ".":
                return tuple(parts)
            self._position += 1

    def _key_part(self) -> str:
        if self._text[self._position] in "\"'":
            return self._take(_STRING)[1:-1]
        return self._take(_BARE_KEY)

    def _value(self, path: KeyPath) -> None:
        first = self._text[self._position]
        if first == "[":
            self._array(path)
        elif first == "{":
            self._inline_table(path)
        elif first in "\"'":
            self._take(_STRING)
        else:
            self._take(_SCALAR)

    def _array(self, path: KeyPath) -> None:
        self._position += 1
        index = 0
        while True:
            self._skip_separators()
            if self._text[self._position] == "]":
                break
            element = (*path, index)
            self._lines[element] = self._line()
            self._value(element)
            index += 1
        self._position += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._position += 1
        while True:
            self._skip_separators()
            if self._text[self._position] == "}":
                break
            self._assignment(path)
        self._position += 1

    def _skip_separators(self) -> None:
        self._skip(_TRIVIA)
        while self._text[self._position] == ",":
            self._position += 1
            self._skip(_TRIVIA)

    def _line(self) -> int:
        return bisect_right(self._starts, self._position)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._position)
        self._position = match.end() if match else self._position

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._position)
        if match is None or match.end() == self._position:
            raise AssertionError(f"not a TOML token at line {self._line()}")
        self._position = match.end()
        return match.group()
