"""The lock file's format: JSON with a line for each layer and each buffer, so that a diff of two can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

LOCK_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Lock:
    """What a lock file says.

    ``layers`` stand in the order in which they run, with ``name``, ``kernel``, ``variant`` (among
    those of that symbol), ``cycles``, ``tile`` (steps of the cut dimensions, the outermost loop first),
    ``slots`` by operand and, where there are any, larger tiles by operand in ``staged`` and the index
    along which rows are kept by operand in ``kept``; for reports ``hinted`` and, for each kernel that was
    not taken, symbol, cycles and whether those are of its calls alone in ``other_kernels``. ``tiling``
    has objective, cost and bound of all tiles; ``pools`` have bytes used, lower bound, and whether
    that is optimal; ``addresses`` pool, offset and size of each buffer. Layers hand their last store
    over to the next one if ``handed_over``.
    """

    platform: str
    platform_sha256: str
    options: Mapping[str, Any]
    layers: tuple[Mapping[str, Any], ...]
    tiling: Sequence[Any]
    problem_sha256: str
    pools: Mapping[str, Sequence[Any]]
    addresses: Mapping[str, Sequence[Any]]
    handed_over: bool = False


def format_lock(lock: Lock) -> str:
    """JSON text with a trailing newline."""
    parts = {"format": LOCK_FORMAT, **{field.name: getattr(lock, field.name) for field in fields(lock)}}
    if not lock.handed_over:
        del parts["handed_over"]
    return "{\n" + ",\n".join(_lines(parts)) + "\n}\n"


def parse_lock(text: str) -> Lock:
    """A lock from its text. Raises ValueError that says which part is damaged."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != LOCK_FORMAT:
        raise ValueError(f"no format {LOCK_FORMAT}")
    kinds: dict[str, type] = {"options": dict, "layers": list, "tiling": list, "pools": dict, "addresses": dict}
    kinds["handed_over"] = bool
    document.setdefault("handed_over", False)
    values: dict[str, Any] = {field.name: document.get(field.name) for field in fields(Lock)}
    for name, value in values.items():
        if not isinstance(value, kinds.get(name, str)):
            raise ValueError(f"'{name}' is missing or has the wrong type")
    _check_entries(values)
    if values["tiling"] and [type(item) for item in values["tiling"]] != [str, int, int]:
        raise ValueError("'tiling'")
    return Lock(**{**values, "layers": tuple(values["layers"] or ())})


def _check_entries(values: Mapping[str, Any]) -> None:
    """Every entry has the right shape."""
    for entry in values["layers"]:
        if not _is_layer(entry):
            raise ValueError(f"the layer {json.dumps(entry)[:80]}")
    for key, kinds in (("pools", (int, int, bool)), ("addresses", (str, int, int))):
        for name, entry in values[key].items():
            if not isinstance(entry, list) or [type(item) for item in entry] != list(kinds):
                raise ValueError(f"'{name}' in '{key}'")


def _is_layer(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    texts = all(isinstance(entry.get(key), str) for key in ("name", "kernel"))
    staged = entry.get("staged", {})
    tables = [entry.get("tile"), entry.get("slots"), entry.get("staged_slots", {})]
    tables += [*(staged.values() if isinstance(staged, dict) else (None,))]
    numbers = all(
        isinstance(table, dict) and all(type(value) is int and value > 0 for value in table.values())
        for table in tables
    )
    kept = entry.get("kept", {})
    texts = texts and isinstance(kept, dict) and all(isinstance(index, str) for index in kept.values())
    numbers = numbers and all(type(entry.get(key)) is int for key in ("variant", "cycles"))
    return (
        texts and numbers and type(entry.get("hinted", False)) is bool and _are_offers(entry.get("other_kernels", []))
    )


def _are_offers(value: Any) -> bool:
    """(symbol, cycles or null, whether those are of calls alone) of each kernel."""
    if not isinstance(value, list) or not all(isinstance(item, list) and len(item) == 3 for item in value):
        return False
    return all(
        type(symbol) is str and type(cycles) in (int, type(None)) and type(alone) is bool
        for symbol, cycles, alone in value
    )


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
