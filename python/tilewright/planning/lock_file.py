"""The lock file's format: JSON with a line for each layer and each buffer, so that a diff of two can be read.

A key of the file is a field here; its metadata say which JSON values it may have. A field with a
default is left out of the file where it has its default.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields
from typing import Any

from tilewright.base.lazy_dataclass import dataclass

LOCK_FORMAT = 1

_Valid = Callable[[Any], bool]


def _json(valid: _Valid) -> Mapping[str, _Valid]:
    """Metadata of a field."""
    return {"valid": valid}


def _is(*kinds: type) -> _Valid:
    """For values of exactly one of the types: True is no int."""
    return lambda value: type(value) in kinds


def _is_row(*kinds: tuple[type, ...]) -> _Valid:
    """For lists with one value for each of ``kinds``, of one of its types."""
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(kinds)
        and all(type(item) in allowed for item, allowed in zip(value, kinds, strict=True))
    )


def _is_list(valid: _Valid) -> _Valid:
    return lambda value: isinstance(value, list) and all(map(valid, value))


def _is_table(valid: _Valid) -> _Valid:
    """For objects whose values are all valid."""
    return lambda value: isinstance(value, dict) and all(map(valid, value.values()))


def _is_positive(value: Any) -> bool:
    return type(value) is int and value > 0


_TEXT, _NUMBER, _FLAG = _json(_is(str)), _json(_is(int)), _json(_is(bool))
_COUNTS = _json(_is_table(_is_positive))


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """The decisions about a layer. Operands are named as in reports.

    Attributes:
        name: of the layer.
        kernel: C symbol.
        variant: number of the kernel among those with that symbol that can run the layer.
        cycles: predicted for the whole layer.
        tile: cut dimension to its step, the outermost loop first.
        slots: operand whose tiles are copied to the slots of their buffer.
        hinted: whether hints of the hardware decided between tiles; for reports.
        other_kernels: for each kernel that was not taken: symbol, cycles (None: no tiles fit), and whether the cycles
            are those of its calls alone; for reports.
        kept: operand to the loop index along which its rows are kept near the core.
        staged_slots: operand to the slots of its larger tiles between home and core, where not 1.
        group: the first layer of the group with which the layer runs block by block; empty for a layer alone.
        block: rows of a block of a layer in a group; 0 for a layer alone.
        staged: for each operand with larger tiles between home and core: the index along which smaller tiles form a
            larger one, to their number; an empty table where one larger tile is the whole operand. With larger tiles in
            several pools, the key is <operand> for the pool nearest to the core and <operand>@<pool> for the others, in
            ``staged_slots`` as well.
    """

    name: str = field(metadata=_TEXT)
    kernel: str = field(metadata=_TEXT)
    variant: int = field(metadata=_NUMBER)
    cycles: int = field(metadata=_NUMBER)
    tile: Mapping[str, int] = field(metadata=_COUNTS)
    slots: Mapping[str, int] = field(metadata=_COUNTS)
    hinted: bool = field(default=False, metadata=_FLAG)
    other_kernels: Sequence[Sequence[Any]] = field(
        default_factory=list, metadata=_json(_is_list(_is_row((str,), (int, type(None)), (bool,))))
    )
    kept: Mapping[str, str] = field(default_factory=dict, metadata=_json(_is_table(_is(str))))
    staged_slots: Mapping[str, int] = field(default_factory=dict, metadata=_COUNTS)
    group: str = field(default="", metadata=_TEXT)
    block: int = field(default=0, metadata=_NUMBER)
    staged: Mapping[str, Mapping[str, int]] = field(
        default_factory=dict, metadata=_json(_is_table(_is_table(_is_positive)))
    )


@dataclass(frozen=True, slots=True)
class Lock:
    """The content of a lock file.

    Attributes:
        platform: name of the platform for which the lock was made.
        platform_sha256: digest of the platform's pools, links and core.
        options: those that decide a plan and are not their default, as JSON has them.
        layers: in the order in which they run.
        tiling: objective, cost and lower bound of the cost of all tiles; empty where nothing was minimised.
        problem_sha256: digest of everything that decides where buffers may lie.
        pools: pool to bytes used, lower bound in bytes, and whether the former is proved to be the least.
        addresses: buffer to pool, offset in bytes and size in bytes.
        handed_over: whether layers hand their last store over to the next layer, which awaits it.
        strips: first layer, last layer and number of strips of the layers that run once for each strip of columns.
        front: bytes, cycles and whether it is taken of each choice of groups; for reports.
    """

    platform: str = field(metadata=_TEXT)
    platform_sha256: str = field(metadata=_TEXT)
    options: Mapping[str, Any] = field(metadata=_json(_is(dict)))
    layers: tuple[LayerEntry, ...] = field(metadata=_json(_is(list)))
    tiling: Sequence[Any] = field(metadata=_json(lambda value: value == [] or _is_row((str,), (int,), (int,))(value)))
    problem_sha256: str = field(metadata=_TEXT)
    pools: Mapping[str, Sequence[Any]] = field(metadata=_json(_is_table(_is_row((int,), (int,), (bool,)))))
    addresses: Mapping[str, Sequence[Any]] = field(metadata=_json(_is_table(_is_row((str,), (int,), (int,)))))
    handed_over: bool = field(default=False, metadata=_FLAG)
    strips: Sequence[Any] = field(default_factory=list, metadata=_json(_is_list(_is_row((str,), (str,), (int,)))))
    front: Sequence[Any] = field(default_factory=list, metadata=_json(_is_list(_is_row((int,), (int,), (bool,)))))


def format_lock(lock: Lock) -> str:
    """JSON text with a trailing newline."""
    parts = {"format": LOCK_FORMAT, **_said(lock), "layers": [_said(layer) for layer in lock.layers]}
    return "{\n" + ",\n".join(_lines(parts)) + "\n}\n"


def parse_lock(text: str) -> Lock:
    """A lock from its text. Raises ValueError that says which part is damaged."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != LOCK_FORMAT:
        raise ValueError(f"no format {LOCK_FORMAT}")
    values = _read(Lock, document)
    return Lock(**{**values, "layers": tuple(map(_layer, values["layers"]))})


def _layer(document: Any) -> LayerEntry:
    try:
        return LayerEntry(**_read(LayerEntry, document if isinstance(document, dict) else {}))
    except ValueError as error:
        raise ValueError(f"the layer {json.dumps(document)[:80]}: {error}") from None


def _read(kind: type[LayerEntry] | type[Lock], document: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the fields that a table of the file has."""
    values = {}
    for item in fields(kind):
        optional = item.default is not MISSING or item.default_factory is not MISSING
        if item.name not in document and optional:
            continue
        value = document.get(item.name)
        if not item.metadata["valid"](value):
            raise ValueError(f"'{item.name}' is missing or has the wrong type")
        values[item.name] = value
    return values


def _said(entry: LayerEntry | Lock) -> dict[str, Any]:
    """The fields that the file shows: all but those that have their default."""
    values = {item: getattr(entry, item.name) for item in fields(entry)}
    return {item.name: value for item, value in values.items() if not _is_default(item, value)}


def _is_default(item: Any, value: Any) -> bool:
    made = item.default if item.default_factory is MISSING else item.default_factory()
    return bool(value == made)


def _lines(parts: Mapping[str, Any]) -> Iterator[str]:
    """Keys one a line; the entries of lists and of large tables too."""
    for key, value in parts.items():
        head = f" {json.dumps(key)}: "
        if key == "layers" and value:
            yield head + "[\n" + ",\n".join(f"  {json.dumps(entry)}" for entry in value) + "\n ]"
        elif key == "addresses" and value:
            entries = (f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in value.items())
            yield head + "{\n" + ",\n".join(entries) + "\n }"
        else:
            yield head + json.dumps(value)
