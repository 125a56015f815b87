"""Options as keywords of CMake's ``tilewright_add_model`` and of SCons' ``TilewrightModel``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.settings import Key, keys_of
from tilewright.options.arguments import shown_value
from tilewright.options.compile_options import CompileOptions
from tilewright.options.declaration import (
    Place,
    argument_of,
    is_repeated,
    must_be_given,
    names_files,
    option_of,
    plain_help,
)


class Passing(Enum):
    """The kind of value that a keyword takes, which decides how values are passed to the command line."""

    FLAG = "flag"
    VALUE = "value"
    FILE = "file"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Keyword:
    """One keyword.

    Attributes:
        name: as it stands in a call.
        argument: that of the command line.
        passing: what it takes.
        file_suffix: values that end in it are files too, which FILE says of all.
        is_required: every call has it.
        usage: the keyword with what it takes, in brackets unless it is required.
        help: what it means.
    """

    name: str
    argument: str
    passing: Passing
    file_suffix: str
    is_required: bool
    usage: str
    help: str


def keywords(kind: type = CompileOptions) -> tuple[Keyword, ...]:
    """The keywords of all options that a call takes, in the order of their fields."""
    return tuple(_keyword(key) for key in keys_of(kind) if option_of(key).place is Place.CALL)


def file_keys(kind: type = CompileOptions) -> tuple[str, ...]:
    """Keys whose values in an options file may name files, but not those that every call gives itself."""
    return tuple(key.name for key in keys_of(kind) if names_files(key) and not must_be_given(key))


def _keyword(key: Key) -> Keyword:
    name, passing = key.name.upper(), _passing(key)
    value = "" if passing is Passing.FLAG else f" {shown_value(key)}{'...' if passing is Passing.LIST else ''}"
    usage = f"{name}{value}" if must_be_given(key) else f"[{name}{value}]"
    suffix = option_of(key).file_suffix
    return Keyword(name, argument_of(key), passing, suffix, must_be_given(key), usage, plain_help(key))


def _passing(key: Key) -> Passing:
    if key.type is bool:
        return Passing.FLAG
    if is_repeated(key):
        return Passing.LIST
    return Passing.FILE if key.type is Path else Passing.VALUE
