# SPDX-License-Identifier: Apache-2.0
"""Tables of keys for the reference pages, from the fields that declare the keys."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from tilewright.base.settings import Key, choices_of, keys_of
from tilewright.platform.types import PlatformFile

PLAIN = {bool: "true, false", str: "text", Path: "file", float: "0 or more"}
SHOWN_BOUND = 2**31
"""Numbers are bounded from here on only so that they cannot overflow: pages leave that out."""


def platform_keys(kind: type = PlatformFile) -> str:
    """The table of all keys of a platform file, below their tables."""
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for key in keys_of(kind):
        if _table_of(key) is None:
            rows.append(row(key))
    for key in keys_of(kind):
        rows += _below(key, key.name)
    return "\n".join(rows)


def _below(key: Key, title: str) -> Iterator[str]:
    """A row with the title of a table, then the rows of its keys, then the same for the tables in it."""
    table = _table_of(key)
    if table is None:
        return
    array = key.item is not None and not key.is_pairs and not _named(table)
    heading = f"[[{title}]]" if array else f"[{title}]"
    entry = f"table: {key.setting.shown} = {{ ... }}" if key.is_pairs or _named(table) else ""
    yield f"| **{heading}** | {entry} | {'required' if key.is_required else 'optional'} | {key.setting.help} |"
    for inner in keys_of(table):
        if _table_of(inner) is None and not inner.setting.is_name:
            yield row(inner)
    for inner in keys_of(table):
        yield from _below(inner, f"{title}.{inner.name}")


def _table_of(key: Key) -> Any:
    """The dataclass that a key's table, or each of its tables, is read into; None if it is no table of that kind."""
    return next((kind for kind in (key.item, key.type) if is_dataclass(kind)), None)


def _named(table: Any) -> bool:
    return any(key.setting.is_name for key in keys_of(table))


def row(key: Key) -> str:
    """A key's line in a table of keys."""
    return f"| `{key.name}` | {value_text(key)} | {default_text(key)} | {key.setting.help} |"


def value_text(key: Key) -> str:
    """What may stand behind a key: the unit, and what the type and the bounds say."""
    unit = f"{key.setting.unit}: " if key.setting.unit else ""
    word = f', or `"{key.setting.none}"`' if key.setting.none else ""
    return unit + _plain_value(key) + word


def _plain_value(key: Key) -> str:
    setting = key.setting
    if key.is_pairs:
        return f"table: {setting.shown}"
    if setting.choices:
        return _quoted(setting.choices)
    if key.item is not None:
        return "list of " + (
            _quoted(choices_of(key.item)) if issubclass(key.item, Enum) else _shown(setting.shown) or "texts"
        )
    if issubclass(key.type, Enum):
        return _quoted(choices_of(key.type))
    if key.type is int:
        return _bounds(key)
    if key.type is float and setting.above_zero:
        return "above 0"
    return _shown(setting.shown) or (f"text: {setting.form.words}" if setting.form else PLAIN[key.type])


def _bounds(key: Key) -> str:
    least, most = key.setting.minimum, key.setting.maximum
    end = f" up to {most:,}" if most < SHOWN_BOUND else ""
    if key.setting.power_of_two:
        return f"{'0 or a ' if least == 0 else ''}power of two{end}"
    return f"{least:,} to {most:,}" if end else f"{least:,} or more"


def _shown(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if re.search(r"\W", text) else text


def _quoted(values: Any) -> str:
    return ", ".join(f"`{value}`" for value in values)


def default_text(key: Key) -> str:
    """The value that holds if a key is not given."""
    if key.setting.default:
        return key.setting.default
    if key.is_required:
        return "required"
    if key.default is None or key.default == ():
        return "none"
    if isinstance(key.default, bool):
        return str(key.default).lower()
    if isinstance(key.default, (int, float)):
        return f"{key.default:,g}"
    return f"`{key.default.value if isinstance(key.default, Enum) else key.default}`"


def with_region(text: str, name: str, content: str) -> str:
    """A page written by hand, with what stands between the two marks of a region replaced."""
    begin, end = f"<!-- {name}: written by scripts/reference_pages.py -->\n", f"<!-- end of {name} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    assert found, f"no region {name}"
    assert closed, f"region {name} has no end"
    return f"{before}{begin}\n{content}\n\n{end}{after}"
