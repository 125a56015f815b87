"""Small .tflite models for tests: a writer of FlatBuffers, and models of single operators."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from tilewright.graph import Array
from tilewright.importers.tflite.schema import ACTIVATIONS, IDENTIFIER, OPERATORS, OPTIONS, PADDINGS, TYPES


@dataclass(frozen=True)
class Table:
    """Fields by number: (struct type, number), Table, Vector, Tables or Text."""

    fields: Mapping[int, object]


@dataclass(frozen=True)
class Vector:
    """Numbers of one NumPy type; the first one is aligned."""

    array: Array
    align: int = 4


@dataclass(frozen=True)
class Tables:
    """A vector of tables."""

    tables: Sequence[Table]


def flatbuffer(root: Table) -> bytes:
    """The file of a table: children stand behind what points to them."""
    content = bytearray(struct.pack("<I", 0) + IDENTIFIER)
    _point(content, 0, root)
    return bytes(content)


def _point(content: bytearray, at: int, child: object) -> None:
    position = _put(content, child)
    struct.pack_into("<I", content, at, position - at)


def _pad(content: bytearray, align: int, ahead: int = 0) -> None:
    content.extend(b"\0" * (-(len(content) + ahead) % align))


def _put(content: bytearray, child: object) -> int:
    if isinstance(child, Table):
        return _table(content, child)
    if isinstance(child, Tables):
        _pad(content, 4)
        start = len(content)
        content.extend(struct.pack("<I", len(child.tables)) + bytes(4 * len(child.tables)))
        for number, table in enumerate(child.tables):
            _point(content, start + 4 + 4 * number, table)
        return start
    text = isinstance(child, str)
    vector = Vector(np.frombuffer(str(child).encode(), np.uint8)) if text else child
    assert isinstance(vector, Vector)
    _pad(content, max(vector.align, vector.array.itemsize), 4)
    start = len(content)
    content.extend(struct.pack("<I", vector.array.size) + vector.array.tobytes() + b"\0" * text)
    return start


def _table(content: bytearray, table: Table) -> int:
    count = max(table.fields, default=-1) + 1
    widths = {
        number: struct.calcsize(f"<{value[0]}") if isinstance(value, tuple) else 4
        for number, value in table.fields.items()
    }
    offsets, size = {}, 4
    for number, width in widths.items():
        size = -(-size // width) * width
        offsets[number] = size
        size += width
    _pad(content, 2)
    vtable = len(content)
    content.extend(struct.pack("<HH", 4 + 2 * count, size))
    content.extend(struct.pack(f"<{count}H", *(offsets.get(number, 0) for number in range(count))))
    _pad(content, 8)
    start = len(content)
    content.extend(struct.pack("<i", start - vtable) + bytes(size - 4))
    for number, value in table.fields.items():
        if isinstance(value, tuple):
            struct.pack_into(f"<{value[0]}", content, start + offsets[number], value[1])
        else:
            _point(content, start + offsets[number], value)
    return start


@dataclass(frozen=True)
class Value:
    """A tensor of a test model; ``scale``, ``zero_point`` and ``signature`` (extents, -1 for any) as in the file."""

    shape: tuple[int, ...]
    type: str = "int8"
    scale: tuple[float, ...] = ()
    zero_point: tuple[int, ...] = ()
    data: Array | None = None
    axis: int = 0
    variable: bool = False
    signature: tuple[int, ...] = ()


@dataclass(frozen=True)
class Step:
    """An operator of a test model, on numbers of tensors."""

    operator: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """Another subgraph."""

    values: Sequence[Value]
    steps: Sequence[Step]
    inputs: Sequence[int] = ()
    outputs: Sequence[int] = ()


def lite_model(
    values: Sequence[Value], steps: Sequence[Step], inputs: Sequence[int], outputs: Sequence[int], *others: Part
) -> bytes:
    """A file with a subgraph, whose tensor i is called t<i>, and with others, which it runs."""
    parts = [Part(values, steps, inputs, outputs), *others]
    names = list(dict.fromkeys(step.operator for part in parts for step in part.steps))
    buffers = [Table({})]
    subgraphs = []
    for number, part in enumerate(parts):
        tensors = [_value(value, f"t{at}", _buffer(value, buffers)) for at, value in enumerate(part.values)]
        fields: dict[int, object] = {
            0: Tables(tensors),
            1: _indices(part.inputs),
            2: _indices(part.outputs),
            3: Tables([_step(step, names) for step in part.steps]),
            4: "main" if number == 0 else f"part{number}",
        }
        subgraphs.append(Table(fields))
    codes = Tables([_code(name) for name in names])
    return flatbuffer(Table({0: ("I", 3), 1: codes, 2: Tables(subgraphs), 3: "made by a test", 4: Tables(buffers)}))


def _buffer(value: Value, buffers: list[Table]) -> int:
    """The number of the buffer of a tensor's elements, which is added to ``buffers``; 0 for none."""
    if value.data is None:
        return 0
    buffers.append(Table({0: Vector(_bytes(value), 16)}))
    return len(buffers) - 1


def _bytes(value: Value) -> Array:
    """The bytes of a constant. Of int4 elements two become a byte, the first in its low bits."""
    assert value.data is not None
    if value.type != "int4" or value.data.dtype == np.uint8:
        return np.frombuffer(value.data.tobytes(), np.uint8)
    nibbles = np.resize(value.data.reshape(-1), value.data.size + value.data.size % 2).astype(np.uint8) & 15
    return nibbles[::2] | nibbles[1::2] << 4


def _indices(numbers: Sequence[int]) -> Vector:
    return Vector(np.asarray(numbers, np.int32))


def _value(value: Value, name: str, buffer: int) -> Table:
    fields: dict[int, object] = {
        0: Vector(np.asarray(value.shape, np.int32)),
        1: ("b", TYPES.index(value.type)),
        2: ("I", buffer),
        3: name,
    }
    if value.scale:
        points = value.zero_point or (0,) * len(value.scale)
        scale = Vector(np.asarray(value.scale, np.float32))
        fields[4] = Table({2: scale, 3: Vector(np.asarray(points, np.int64), 8), 6: ("i", value.axis)})
    if value.variable:
        fields[5] = ("?", True)
    if value.signature:
        fields[7] = Vector(np.asarray(value.signature, np.int32))
    return Table(fields)


def _code(name: str) -> Table:
    kind, _, custom = name.partition(" ")
    code = OPERATORS.index(kind)
    if custom:
        return Table({0: ("b", min(code, 127)), 1: custom, 2: ("i", 1), 3: ("i", code)})
    return Table({0: ("b", min(code, 127)), 2: ("i", 1), 3: ("i", code)})


def _step(step: Step, names: Sequence[str]) -> Table:
    fields: dict[int, object] = {
        0: ("I", names.index(step.operator)),
        1: _indices(step.inputs),
        2: _indices(step.outputs),
    }
    if "custom" in step.options:
        fields[5] = Vector(np.asarray(step.options["custom"], np.uint8))
    known = OPTIONS.get(step.operator)
    if known is not None:
        numbers = {option.name: number for number, option in enumerate(known.fields)}
        given = {
            numbers[name]: _option(known.fields[numbers[name]].kind, value) for name, value in step.options.items()
        }
        fields |= {3: ("B", known.type), 4: Table(given)}
    return Table(fields)


_WORDS = (ACTIVATIONS, PADDINGS, TYPES, ("REFLECT", "SYMMETRIC"))


def _option(kind: str, value: object) -> object:
    if kind == "integers":
        return Vector(np.asarray(value, np.int32))
    if isinstance(value, str):
        words = next((words for words in _WORDS if value in words), ())
        return (kind, words.index(value)) if words else value
    return (kind, value)
