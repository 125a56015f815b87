"""C identifiers from the model's names: readable, unique, never reserved."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tilewright.base.errors import bad_input

_LONGEST = 40
_RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "alignas alignof and asm bitand bitor bool catch class compl constexpr delete explicit export false friend "
    "mutable namespace new noexcept not nullptr operator or private protected public template this throw true try "
    "typeid typename using virtual xor NULL".split()
)


def c_identifier(name: str) -> str:
    """Letters, digits and single underscores; prefixed where a digit or a keyword would come first."""
    cleaned = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    if not cleaned or cleaned[0].isdigit() or cleaned in _RESERVED:
        cleaned = f"t_{cleaned}".rstrip("_")
    return cleaned


def in_comment(name: str) -> str:
    """A name inside a C comment: no comment starts or ends, no line breaks, no trigraphs."""
    plain = "".join(char if char.isprintable() and ord(char) < 128 else "?" for char in name)
    plain = re.sub(r"\?(?=\?)", "? ", plain)
    return plain.replace("*/", "* /").replace("/*", "/ *")


def interface_identifiers(names: Iterable[str]) -> dict[str, str]:
    """Identifiers of the model's inputs or outputs.

    Raises bad_input if two names become the same identifier.
    """
    taken: dict[str, str] = {}
    for name in names:
        identifier = c_identifier(name)
        clash = next((other for other, used in taken.items() if used.upper() == identifier.upper()), None)
        if clash is not None:
            raise bad_input(
                "name-clash",
                f"tensors '{clash}' and '{name}' both become the C name '{identifier}'",
                help="rename one of them in the model",
            )
        taken[name] = identifier
    return taken


def unique_identifiers(names: Iterable[str]) -> dict[str, str]:
    """Short identifiers of internal names; later ones are numbered where they would clash."""
    taken: set[str] = set()
    identifiers = {}
    for name in names:
        stem = c_identifier(name)
        stem = _shortened(stem)
        identifier, number = stem, 2
        while identifier.upper() in taken:
            identifier, number = f"{stem}_{number}", number + 1
        taken.add(identifier.upper())
        identifiers[name] = identifier
    return identifiers


def _shortened(identifier: str) -> str:
    """The last words of a long identifier."""
    if len(identifier) <= _LONGEST:
        return identifier
    words = identifier[-_LONGEST:].split("_")[1:]
    while words and words[0][:1].isdigit():
        words = words[1:]
    return "_".join(words) or f"t_{identifier[-_LONGEST:]}"
