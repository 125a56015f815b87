"""Options that are tables of layers: the steps of their tiles, and the slots of their buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Union

from tilewright.base.settings import choices_of
from tilewright.base.toml_file import Table
from tilewright.options.choices import Buffering

TileSteps = tuple[tuple[str, int], ...]
"""(dimension, step) pairs of one layer; ``<pool>.<dimension>`` for the larger tiles in a pool between home and core."""

LayerBuffers = tuple[tuple[str, str, Union[str, int]], ...]
"""(operand, pool, slots or single, double, auto) of one layer; the pool is empty for tiles near the core."""

MOST_SLOTS = 64


def read_tiles(table: Table, key: str) -> tuple[tuple[str, TileSteps], ...]:
    """Layer to steps by dimension; a table instead of a step is for the tiles in the pool of that name."""
    layers = table.table(key)
    return tuple((layer, tuple(_steps(_some(layers, layer)))) for layer in layers.values)


def _steps(table: Table, prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, step in table.values.items():
        if isinstance(step, Mapping):
            yield from _steps(_some(table, name), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", table.integer(name, 1)


def read_buffers(table: Table, key: str) -> tuple[tuple[str, LayerBuffers], ...]:
    """Layer to slots by operand; a table instead of slots is for the tiles in the pool of that name."""
    layers = table.table(key)
    return tuple((layer, tuple(_slots(_some(layers, layer)))) for layer in layers.values)


def _slots(table: Table, pool: str = "") -> Iterator[tuple[str, str, Union[str, int]]]:
    for name, slots in table.values.items():
        if isinstance(slots, Mapping) and not pool:
            yield from _slots(_some(table, name), name)
        elif isinstance(slots, str):
            yield name, pool, table.choice(name, choices_of(Buffering))
        else:
            yield name, pool, table.integer(name, 1, MOST_SLOTS)


def _some(table: Table, key: str) -> Table:
    """A table that has at least one key."""
    if table.table(key).values:
        return table.table(key)
    raise table.must_be(key, "a table with at least one key")
