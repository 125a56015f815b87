"""C identifiers from the model's names: readable, unique, never reserved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tilewright.base.errors import bad_input
from tilewright.base.reserved_names import is_header_word, is_reserved

_LONGEST = 40
_LONGEST_TEXT = 2000


def c_identifier(name: str) -> str:
    """Letters, digits and single underscores; prefixed where it would begin with a digit or be reserved."""
    cleaned = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    if not cleaned or cleaned[0].isdigit() or is_reserved(cleaned):
        cleaned = f"t_{cleaned}".rstrip("_")
    return cleaned


def c_prefix(name: str) -> str:
    """An identifier that may begin the C names of a model.

    Among those names is the enumerator ``<PREFIX>_OK``: for the prefixes f, r, w and x, <unistd.h> has it as a macro.
    """
    identifier = c_identifier(name)
    return f"t_{identifier}" if is_header_word(f"{identifier}_OK".upper()) else identifier


_OF_MODELS = frozenset(
    (
        "all_layers call check_constants context corruption feeding finish guards infer inference inputs is_misaligned "
        "layers layout model_sha256 outputs pools profile profile_layers protected reset run set_weights start status "
        "status_text weights"
    ).split()
)
_BEGINNINGS_OF_MODELS = (
    "argmax_",
    "dequantize_",
    "feed_",
    "input_",
    "layer_",
    "output_",
    "pool_",
    "quantize_",
    "shape_",
)


def constants_object(prefix: str, pool: str) -> str:
    """The C object of a model's constants in a pool: ``<prefix>_<pool>``, unless the model has that name already."""
    if pool in _OF_MODELS or pool.startswith(_BEGINNINGS_OF_MODELS):
        return f"{prefix}_pool_{pool}"
    return f"{prefix}_{pool}"


def in_comment(name: str) -> str:
    """A name inside a C comment: no comment starts or ends, no line breaks, no trigraphs."""
    plain = "".join(char if char.isprintable() and ord(char) < 128 else "?" for char in name)
    plain = re.sub(r"\?(?=\?)", "? ", plain)
    return plain.replace("*/", "* /").replace("/*", "/ *")


def text_part(text: str) -> str:
    """A text for a C string literal, which may have 4,095 bytes: of a longer text its beginning and its end."""
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[: _LONGEST_TEXT // 2]}...{text[-_LONGEST_TEXT // 2 :]}"


def interface_identifiers(names: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Identifiers of the model's inputs or outputs: those that the user gives, else what follows from the names.

    Raises bad_input if a given one is no identifier, or two names become the same.
    """
    taken: dict[str, str] = {}
    for name in names:
        identifier = c_identifier(given.get(name, name))
        if identifier != given.get(name, identifier):
            raise bad_input(
                "bad-name",
                f"INTERFACE {name}={given[name]}: '{given[name]}' cannot be part of C names",
                help=f"letters, digits and single underscores, and no name of C; for example '{identifier}'",
            )
        clash = next((other for other, used in taken.items() if used.upper() == identifier.upper()), None)
        if clash is not None:
            raise bad_input(
                "name-clash",
                f"tensors '{clash}' and '{name}' both become the C name '{identifier}'",
                help=f"INTERFACE '{name}'=<identifier> gives one of them another",
            )
        taken[name] = identifier
    return taken


def unique_identifiers(names: Iterable[str]) -> dict[str, str]:
    """Short identifiers of internal names; later ones are numbered where they would clash."""
    return numbered({name: c_identifier(_shortened(c_identifier(name))) for name in names})


def numbered(stems: Mapping[str, str]) -> dict[str, str]:
    """Name to C identifier, from name to stem: equal stems are numbered, so x, x, X become x, x_2, X_3.

    Identifiers differ in more than capital letters, as macros have them in capitals.
    """
    taken: set[str] = set()
    different = {}
    for name, stem in stems.items():
        identifier, number = stem, 2
        while identifier.upper() in taken:
            identifier, number = f"{stem}_{number}", number + 1
        taken.add(identifier.upper())
        different[name] = identifier
    return different


def _shortened(identifier: str) -> str:
    """The last words of a long identifier."""
    if len(identifier) <= _LONGEST:
        return identifier
    words = identifier[-_LONGEST:].split("_")[1:]
    while words and words[0][:1].isdigit():
        words = words[1:]
    return "_".join(words) or f"t_{identifier[-_LONGEST:]}"


def plain_text(name: str) -> str:
    """A name for the inside of a C string: quotes, backslashes and all but printable ASCII become '?'."""
    kept = text_part(name)
    plain = "".join(char if char.isprintable() and ord(char) < 128 and char not in '"\\' else "?" for char in kept)
    return plain.replace("??", "? ?")
