"""How an option is declared: a field of a dataclass whose metadata says what it is and where it can be given.

    buffering: Buffering = field(
        default=Buffering.AUTO, metadata=option("how many slots tile buffers have", place=Place.CALL)
    )

From the field follow the key of the options file and of ``--set``, the argument of the command line, the keyword of
the CMake function and of the SCons method, the entry of plan locks, and the row of the reference page.
"""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path
from typing import Any

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.settings import Key, setting
from tilewright.base.toml_file import Codes

OPTION_CODES = Codes("options-file", "options-syntax", "unknown-option", "bad-option", "missing-option", "option")
"""Codes of errors in options, wherever they are given."""

_METADATA = "option"


class Place(Enum):
    """Where an option can be given; each place includes those before it."""

    FILE = "the options file and --set"
    COMMAND_LINE = "an argument of the command line"
    CALL = "a keyword of tilewright_add_model and TilewrightModel"


@dataclass(frozen=True, slots=True)
class Option:
    """The facts about an option that a setting does not have.

    Attributes:
        place: where it can be given.
        word: its argument on the command line, without dashes, if that is not the field's name: of a list it takes one
            entry and may be repeated (``pool`` for ``pools``).
        by_name: entries of two places are merged by their names; else the later place replaces the earlier one.
        file_suffix: a text that ends in it is a file, and relative to the folder of the options file.
        in_lock: a plan lock records the value, since another one can lead to another plan; False where the plan does
            not depend on it, or the lock records what it leads to (pools, layers).
    """

    place: Place = Place.FILE
    word: str = ""
    by_name: bool = False
    file_suffix: str = ""
    in_lock: bool = True


def option(
    help: str,
    *,
    place: Place = Place.FILE,
    word: str = "",
    by_name: bool = False,
    file_suffix: str = "",
    in_lock: bool = True,
    **facts: Any,
) -> dict[str, Any]:
    """The metadata of a field that is an option; ``facts`` are attributes of ``base.settings.Setting``."""
    declared = Option(place, word, by_name, file_suffix, in_lock)
    return {**setting(help, **facts), _METADATA: declared}


def option_of(key: Key) -> Option:
    """The facts about an option, from its field's metadata."""
    declared: Option = key.metadata[_METADATA]
    return declared


def must_be_given(key: Key) -> bool:
    """Whether the user must give the option: there is no default, and nothing else from which a value follows."""
    return key.is_required and not key.setting.default


def argument_of(key: Key) -> str:
    """The argument on the command line, with its dashes."""
    return "--" + (option_of(key).word or key.name).replace("_", "-")


def is_repeated(key: Key) -> bool:
    """Whether the option is a list, of which the argument takes one entry and may be repeated."""
    return key.item is not None


def names_files(key: Key) -> bool:
    """Whether values are, or may be, names of files."""
    return key.type is Path or bool(option_of(key).file_suffix)


def plain_help(key: Key) -> str:
    """What the option means, without the links of reference pages."""
    return re.sub(r" ?\(\[more\]\([^)]*\)\)", "", re.sub(r"\[(?!more\])([^\]]*)\]\([^)]*\)", r"\1", key.setting.help))
