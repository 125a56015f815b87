"""Reads the fenced blocks of a Markdown page, and what the page says about running them.

What a reader sees decides as far as possible: a block behind a paragraph that ends in "`name`:"
is the file of that name, a block of ``sh`` is typed, and a block of ``text`` right behind it is
what it prints (a line ``...`` stands for any lines, ``...`` in a line for any characters).
An HTML comment ``<!-- test: ... -->`` before a block, or before the first, says the rest:

- ``setup=<name>``: a function of setups.py fills the folder first (once for a page)
- ``file=<path>``: the block is this file; ``append=<path>``: its end
- ``fails``: the commands of the block must fail
- ``configure``: a fragment of a CMakeLists.txt, in a project that has the functions
- ``compile=<file>``: C lines inside the body of a function; ``<file>`` of the folder stands before it
- ``of=<path>``: lines of this file of the repository, which another test runs; some may be left out
- ``by=<path>``: another test's file, which reads or checks this block, and names the page
- ``packages``: what the block installs is checked against scripts/setup.sh instead
- ``picture``: a drawing or a form, nothing that can be run
- ``figures``: an output whose numbers may be others
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^( *)(```+) *([\w+-]*)[^\n]*\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"<!-- test: *(.*?) *-->")
_NAMED = re.compile(r"`([\w./-]+)`:$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, text, the line where it begins, and its directives."""

    language: str
    text: str
    line: int
    directives: dict[str, str] = field(default_factory=dict)
    named: str = ""

    @property
    def file(self) -> str:
        """The file that the block is, or nothing."""
        return self.directives.get("file", "" if self.directives else self.named)


def pages() -> list[Path]:
    """README and all pages of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def setups(text: str) -> list[str]:
    """The setups that a page asks for."""
    return [words["setup"] for words in map(_words, _DIRECTIVE.findall(text)) if "setup" in words]


def blocks(text: str) -> list[Block]:
    """The blocks of a page, in order."""
    found, end = [], 0
    for match in _FENCE.finditer(text):
        between = text[end : match.start()]
        directives: dict[str, str] = {}
        for words in map(_words, _DIRECTIVE.findall(between)):
            directives.update(words)
        directives.pop("setup", None)
        paragraph = _DIRECTIVE.sub("", between).rstrip().rpartition("\n\n")[2]
        named = _NAMED.search(paragraph)
        indent = len(match[1])
        lines = "".join(line[indent:] for line in match[4].splitlines(keepends=True))
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match[3], lines, line, directives, named[1] if named and match[3] != "sh" else ""))
        end = match.end()
    return found


def _words(text: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in text.split())
    return {key: value for key, _, value in pairs}
