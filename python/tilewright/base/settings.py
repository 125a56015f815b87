"""Settings: fields of frozen dataclasses that are read from TOML as their declarations say.

    @dataclass(frozen=True, slots=True)
    class Target:
        stack_bytes: int = field(default=4096, metadata=setting("the least stack", unit="bytes", minimum=256))

``read(table, Target)`` takes the key ``stack_bytes`` of a table. The field's type says how the value is written, its
metadata the bounds, the unit and what the reference pages tell; a field without a default must be given. Types:

- ``bool``, ``int``, ``float``, ``str``, ``Path`` and enums, by their values;
- a dataclass with settings: a table;
- a tuple of texts or enums: a list; of dataclasses: ``[[key]]``, or a table of tables where one field is ``is_name``;
- a tuple of pairs of a text and one of the above: a table, whose keys are the texts.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tilewright.base.errors import TilewrightError, suggestion
from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.toml_file import Table
from tilewright.base.toml_lines import KeyPath

T = TypeVar("T")

_METADATA = "setting"


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a text: a pattern for the whole text, and the pattern in words ('letters and digits')."""

    pattern: re.Pattern[str]
    words: str


@dataclass(frozen=True, slots=True)
class Setting:
    """What a field says of itself beside its name, type and default.

    Attributes:
        help: what it means, for ``--help`` and the reference pages; Markdown.
        key: its name in a file, where that is not the field's.
        unit: of a number, in the plural.
        minimum, maximum: bounds of a whole number, both included.
        above_zero: whether a float may not be 0.
        power_of_two: whether a whole number must be one; 0 passes if the minimum is 0.
        choices: the values that there are, where the type does not say it.
        form: how a text, or each text of a list, must look.
        none: the word that stands for None.
        is_name: the value is the key of the table in which the dataclass stands.
        listed: a table of names may also be a list of ``<name>=<value>``.
        reader: reads a value that is written as no type says: table and key to value.
        shown: the value as documentation shows it, in CMake's notation (``<pool>=<bytes>``); for one entry of a list.
        default: the default as documentation shows it, where the field's does not say it.
    """

    help: str
    key: str = ""
    unit: str = ""
    minimum: int = 0
    maximum: int = 2**63 - 1
    above_zero: bool = False
    power_of_two: bool = False
    choices: tuple[Any, ...] = ()
    form: Form | None = None
    none: str = ""
    is_name: bool = False
    listed: bool = False
    reader: Callable[[Table, str], Any] | None = None
    shown: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """A setting where it is declared.

    Attributes:
        field: the name of the dataclass's field.
        name: the key in a file.
        type: the field's type, without None.
        default: ``dataclasses.MISSING`` if the key must be given.
        setting: the rest.
        metadata: all that the field's metadata has.
    """

    field: str
    name: str
    type: Any
    default: Any
    setting: Setting
    metadata: Mapping[str, Any]

    @property
    def is_required(self) -> bool:
        """Whether the key must be given."""
        return self.default is MISSING

    @property
    def item(self) -> Any:
        """The type of a list's entries, or of the values in a table of names; None for everything else."""
        if get_origin(self.type) is not tuple:
            return None
        first = get_args(self.type)[0]
        return get_args(first)[1] if self.is_pairs else first

    @property
    def is_pairs(self) -> bool:
        """Whether it is a table of names."""
        return get_origin(self.type) is tuple and get_origin(get_args(self.type)[0]) is tuple


def setting(help: str, **facts: Any) -> dict[str, Any]:
    """The metadata of a field that is a setting; ``facts`` are the attributes of ``Setting``."""
    return {_METADATA: Setting(help, **facts)}


def keys_of(kind: type) -> tuple[Key, ...]:
    """The settings among a dataclass's fields, in their order."""
    return _keys_of(kind)


@cache
def _keys_of(kind: type) -> tuple[Key, ...]:
    hints = get_type_hints(kind)
    found = []
    for item in fields(kind):
        if _METADATA in item.metadata:
            declared: Setting = item.metadata[_METADATA]
            name = declared.key or item.name
            default = item.default if item.default_factory is MISSING else item.default_factory()
            found.append(Key(item.name, name, _without_none(hints[item.name]), default, declared, item.metadata))
    return tuple(found)


def read(table: Table, kind: type[T]) -> T:
    """The dataclass that a table says. Raises bad_input for a key that is unknown, wrong or missing."""
    given = read_given(table, kind)
    for key in keys_of(kind):
        if key.setting.is_name:
            given[key.field] = str(table.path[-1])
            _check_form(table, key, given[key.field])
        elif key.is_required and key.field not in given:
            raise _missing(table, key)
    return kind(**given)


def _missing(table: Table, key: Key) -> TilewrightError:
    if is_dataclass(key.item) and not _name_field(key.item):
        return table.missing(f"there is no [[{key.name}]]", key.name)
    return table.missing(f"'{key.name}' is missing", key.name)


def read_given(table: Table, kind: type) -> dict[str, Any]:
    """Field to value of the keys that a table has. Raises bad_input for one that is unknown or wrong."""
    keys = {key.name: key for key in keys_of(kind) if not key.setting.is_name}
    table.only(list(keys))
    return {key.field: _value(table, key) for key in keys.values() if key.name in table.values}


def _value(table: Table, key: Key) -> Any:
    if key.setting.reader is not None:
        return key.setting.reader(table, key.name)
    if key.setting.none and table.values[key.name] == key.setting.none:
        return None
    if key.is_pairs:
        return _pairs(table, key)
    return _list(table, key) if key.item is not None else _single(table, key, key.name, key.type)


def _single(table: Table, key: Key, name: str, kind: Any) -> Any:
    """One value of a type, by its name in the table. Bounds are those of the key."""
    if is_dataclass(kind):
        return read(table.table(name), _class(kind))
    if key.setting.choices:
        return table.choice(name, key.setting.choices)
    if issubclass(kind, Enum):
        return kind(table.choice(name, choices_of(kind)))
    if kind is bool:
        return table.boolean(name)
    if kind is int:
        return _whole(table, key.setting, name)
    if kind is float:
        return table.number(name, above_zero=key.setting.above_zero)
    if kind is Path:
        value = table.values[name]
        return value if isinstance(value, Path) else Path(table.text(name))
    text = table.text(name)
    _check_form(table, key, text)
    return text


def _whole(table: Table, declared: Setting, name: str) -> int:
    value = table.integer(name, declared.minimum, declared.maximum)
    if declared.power_of_two and value & (value - 1):
        raise table.must_be(name, "a power of two")
    return value


def _list(table: Table, key: Key) -> tuple[Any, ...]:
    if is_dataclass(key.item):
        kind = _class(key.item)
        if _name_field(kind):
            inner = table.table(key.name)
            return tuple(read(inner.table(name), kind) for name in inner.values)
        return tuple(read(item, kind) for item in table.tables(key.name))
    texts = table.texts(key.name)
    if not texts and key.is_required:
        raise table.must_be(key.name, "a list with at least one text")
    if isinstance(key.item, type) and issubclass(key.item, Enum):
        return _enums(table, key, texts)
    for index, text in enumerate(texts):
        _check_form(table, key, text, index)
    return texts


def _enums(table: Table, key: Key, texts: Sequence[str]) -> tuple[Enum, ...]:
    choices = choices_of(key.item)
    for index, text in enumerate(texts):
        if text not in choices:
            remedy = suggestion(text, choices)
            raise table.wrong(
                f"'{key.name}' has '{text}', not one of {', '.join(choices)}", key.name, index, help=remedy
            )
        if text in texts[:index]:
            raise table.wrong(f"'{text}' is listed twice", key.name, index)
    return tuple(key.item(text) for text in texts)


def _pairs(table: Table, key: Key) -> tuple[tuple[str, Any], ...]:
    if key.setting.listed:
        table = _as_table(table, key)
    inner = table.table(key.name)
    return tuple((name, _single(inner, key, name, key.item)) for name in inner.values)


def _as_table(table: Table, key: Key) -> Table:
    """The table with ``key`` as a table: from a list of ``<name>=<value>``, with texts read as whole numbers.

    Names of tensors may hold '=', so the last '=' of an entry separates.
    """
    given = table.values[key.name]
    if isinstance(given, (list, tuple)):
        given = dict(_name_and_value(table, key, index, str(text)) for index, text in enumerate(given))
    if isinstance(given, Mapping) and key.item is int:
        given = {name: _number_of(value, key.setting.unit) for name, value in given.items()}
    return replace(table, values={key.name: given})


def _name_and_value(table: Table, key: Key, index: int, text: str) -> tuple[str, str]:
    name, _, value = text.rpartition("=")
    if not name or not value:
        raise table.wrong(f"'{text}' is not <name>=<value>", key.name, index)
    return name, value


BYTE_UNITS: Mapping[str, int] = MappingProxyType({"": 1, "K": 1024, "M": 1024 * 1024})
"""Units that may stand behind a number of bytes, as in linker scripts, with their bytes."""


def _number_of(value: Any, unit: str) -> Any:
    """A whole number from a text; of bytes, K or M behind it stands for 1,024 or 1,048,576."""
    if not isinstance(value, str):
        return value
    factor = BYTE_UNITS.get(value[-1:], 1) if unit == "bytes" else 1
    digits = value[:-1] if factor > 1 else value
    return int(digits) * factor if digits.isdecimal() else value


def _check_form(table: Table, key: Key, text: str, *index: int) -> None:
    form = key.setting.form
    if form is not None and not form.pattern.fullmatch(text):
        place: KeyPath = () if key.setting.is_name else (key.name, *index)
        verb = "has" if index else "is"
        raise table.wrong(f"'{key.name}' {verb} '{text}', but may have only {form.words}", *place)


def choices_of(kind: type[Enum]) -> list[str]:
    """The values of an enum of texts."""
    return [str(member.value) for member in kind]


def _name_field(kind: Any) -> bool:
    return any(key.setting.is_name for key in keys_of(kind))


def _class(kind: Any) -> type[Any]:
    assert isinstance(kind, type)
    return kind


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    (only,) = (item for item in get_args(hint) if item is not type(None))
    return only
