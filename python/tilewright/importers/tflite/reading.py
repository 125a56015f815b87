"""From the bytes of a .tflite file to ``LiteModel``; a file that contradicts itself is refused with the place."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.inputs import read_content
from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.importers.tflite.flatbuffer import Bytes, Spoilt, Table
from tilewright.importers.tflite.flexbuffer import first_integer
from tilewright.importers.tflite.records import LiteModel, OperatorRecord, OptionValue, SubgraphRecord, TensorRecord
from tilewright.importers.tflite.schema import (
    CIRCULAR_BUFFER,
    IDENTIFIER,
    OPERATORS,
    OPTIONS,
    TYPES,
    VERSION,
    Option,
)

_MOST_TENSORS = 1 << 20
_MOST_ELEMENTS = 1 << 30
_HELP_BROKEN = "convert the model again, or fetch it again if it came over a network"
_WIDTHS = {"float16": "float16", "uint64": "uint64", "uint32": "uint32", "uint16": "uint16", "float64": "float64"}
_NUMPY = {
    **{name: name for name in ("float32", "int32", "uint8", "int64", "bool", "int16", "int8")},
    **_WIDTHS,
}


def is_lite(content: bytes) -> bool:
    """Whether a file's content is a .tflite model, by its identifier."""
    return content[4:8] == IDENTIFIER


def read_lite(path: Path) -> LiteModel:
    """The content of a .tflite file.

    Raises:
        TilewrightError (bad input): the file contradicts itself, or is of another schema version.
    """
    try:
        content = read_content(path)
    except OSError as error:
        raise bad_input("model-unreadable", f"cannot read '{path}': {error.strerror}", help="check MODEL") from None
    try:
        return _model(Bytes.of(content), path)
    except Spoilt as problem:
        raise broken(str(path), str(problem)) from None


def broken(file: str, what: str) -> TilewrightError:
    """The error for a file that contradicts itself."""
    return bad_input("model-broken", f"the .tflite file is spoilt: {what}", at=file, help=_HELP_BROKEN)


def _model(file: Bytes, path: Path) -> LiteModel:
    root = Table.root(file)
    version = root.integer(0, "I")
    if version != VERSION:
        raise Spoilt(f"root: schema version {version}; {VERSION} is known")
    codes = [_code(table) for table in root.tables(1, "operator_codes")]
    buffers = [table.array(0, "uint8", "data") for table in root.tables(4, "buffers")]
    subgraphs = tuple(_subgraph(table, codes, buffers) for table in root.tables(2, "subgraphs"))
    if not subgraphs or not subgraphs[0].outputs:
        raise Spoilt("root: no subgraph with outputs")
    return LiteModel(str(path), subgraphs)


@dataclass(frozen=True, slots=True)
class _Code:
    operator: str
    version: int


def _code(table: Table) -> _Code:
    """The operator; builtin codes beyond a byte stand in a field of their own."""
    code = max(table.integer(0, "b"), table.integer(3, "i"))
    if code < 0:
        raise Spoilt(f"{table.place}: operator code {code}")
    name = OPERATORS[code] if code < len(OPERATORS) else f"code {code}"
    if name == "CUSTOM":
        name = f"CUSTOM {table.text(1, 'custom_code')}"
    return _Code(name, table.integer(2, "i", 1))


def _subgraph(table: Table, codes: list[_Code], buffers: list[Array]) -> SubgraphRecord:
    tensors = tuple(_tensor(entry, buffers) for entry in table.tables(0, "tensors"))
    if len(tensors) > _MOST_TENSORS:
        raise Spoilt(f"{table.place}: {len(tensors)} tensors")
    inputs = _indices(table, 1, "inputs", len(tensors))
    outputs = _indices(table, 2, "outputs", len(tensors))
    operators = tuple(
        _operator(entry, index, codes, len(tensors)) for index, entry in enumerate(table.tables(3, "operators"))
    )
    subgraph = SubgraphRecord(table.text(4, "name"), tensors, inputs, outputs, operators)
    _require_order(subgraph, table.place)
    return subgraph


def _indices(table: Table, field: int, name: str, count: int, lowest: int = 0) -> tuple[int, ...]:
    """Numbers of tensors."""
    listed = tuple(int(index) for index in table.array(field, "int32", name))
    for position, index in enumerate(listed):
        if not lowest <= index < count:
            raise Spoilt(f"{table.place}.{name}[{position}]: tensor {index} of {count}")
    return listed


def _tensor(table: Table, buffers: list[Array]) -> TensorRecord:
    shape = tuple(int(extent) for extent in table.array(0, "int32", "shape"))
    code, buffer = table.integer(1, "b"), table.integer(2, "I")
    if not 0 <= code < len(TYPES):
        raise Spoilt(f"{table.place}.type: code {code}")
    if any(extent < 0 for extent in shape) or prod(shape) > _MOST_ELEMENTS:
        raise Spoilt(f"{table.place}.shape: {list(shape)}")
    if buffer >= len(buffers) > 0:
        raise Spoilt(f"{table.place}.buffer: buffer {buffer} of {len(buffers)}")
    stored = buffers[buffer] if buffers else np.zeros(0, np.uint8)
    scale, zero_point, axis = _quantization(table, shape)
    return TensorRecord(
        table.text(3, "name"),
        TYPES[code],
        shape,
        _data(stored, TYPES[code], shape, table.place) if stored.size else None,
        scale,
        zero_point,
        axis,
        bool(table.integer(5, "?")),
    )


def _quantization(table: Table, shape: tuple[int, ...]) -> tuple[tuple[float, ...], tuple[int, ...], int]:
    """Scales and zero points, as many of the one as of the other, and their axis; empty ones without scales."""
    entry = table.table(4, "quantization")
    if entry is None:
        return (), (), 0
    scale = tuple(float(value) for value in entry.array(2, "float32", "scale"))
    zero_point = tuple(int(value) for value in entry.array(3, "int64", "zero_point"))
    axis = entry.integer(6, "i")
    if not scale:
        return (), (), 0
    if not all(0.0 <= value < float("inf") for value in scale):
        raise Spoilt(f"{entry.place}.scale: not every scale is a finite positive number")
    if any(abs(value) > 1 << 31 for value in zero_point):
        raise Spoilt(f"{entry.place}.zero_point: beyond 32 bits")
    if len(zero_point) in (0, 1):
        zero_point = (zero_point or (0,)) * len(scale)
    if len(zero_point) != len(scale):
        raise Spoilt(f"{entry.place}: {len(scale)} scales, {len(zero_point)} zero points")
    # Files exist whose vectors per channel name an axis that a bias does not have; its one axis is meant.
    return scale, zero_point, axis if 0 <= axis < len(shape) else 0


def _data(stored: Array, name: str, shape: tuple[int, ...], place: str) -> Array:
    """The elements of a constant; of types that the graph does not know, the bytes."""
    if name == "int4":
        return _nibbles(stored, shape, place)
    kind = _NUMPY.get(name)
    if kind is None:
        return stored
    dtype = np.dtype(kind).newbyteorder("<")
    if stored.size != prod(shape) * dtype.itemsize:
        raise Spoilt(f"{place}: {stored.size} bytes of data for {name}{list(shape)}")
    return np.frombuffer(stored.tobytes(), dtype).astype(np.dtype(kind)).reshape(shape)


def _nibbles(stored: Array, shape: tuple[int, ...], place: str) -> Array:
    """int4 elements as int8; the low four bits of a byte come first."""
    count = prod(shape)
    if stored.size != (count + 1) // 2:
        raise Spoilt(f"{place}: {stored.size} bytes of data for int4{list(shape)}")
    pairs = np.stack([stored << 4, stored & 0xF0], axis=-1).view(np.int8) >> 4
    return pairs.reshape(-1)[:count].reshape(shape)


def _operator(table: Table, index: int, codes: list[_Code], count: int) -> OperatorRecord:
    code = table.integer(0, "I")
    if code >= len(codes):
        raise Spoilt(f"{table.place}.opcode_index: {code} of {len(codes)}")
    operator = codes[code].operator
    inputs = _indices(table, 1, "inputs", count, -1)
    outputs = _indices(table, 2, "outputs", count)
    return OperatorRecord(index, operator, codes[code].version, inputs, outputs, _options(table, operator))


def _options(table: Table, operator: str) -> Mapping[str, OptionValue]:
    """The operator's options by name, with the schema's defaults where the file has none."""
    if operator == CIRCULAR_BUFFER:
        place = f"{table.place}.custom_options"
        cycles = first_integer(table.array(5, "uint8", "custom_options").tobytes(), place)
        return {} if cycles is None else {"cycles": cycles}
    known = OPTIONS.get(operator)
    if known is None:
        return {}
    kind, entry = table.integer(3, "B"), table.table(4, "builtin_options")
    if kind not in (0, known.type):
        raise Spoilt(f"{table.place}.builtin_options: of type {kind}, that of {operator} is {known.type}")
    if kind == 0:
        entry = None
    return {option.name: _option(entry, number, option) for number, option in enumerate(known.fields)}


def _option(table: Table | None, field: int, option: Option) -> OptionValue:
    if option.kind == "text":
        return "" if table is None else table.text(field, option.name)
    if option.kind == "integers":
        return () if table is None else tuple(int(value) for value in table.array(field, "int32", option.name))
    value = option.default if table is None else table.number(field, option.kind, option.default)
    if not option.names:
        return value
    if not 0 <= int(value) < len(option.names):
        place = "" if table is None else table.place
        raise Spoilt(f"{place}.{option.name}: code {value}")
    return option.names[int(value)]


def _require_order(subgraph: SubgraphRecord, place: str) -> None:
    """Every tensor is written once, before it is read; one that is kept from run to run may be read before.

    What custom operators of others do with their inputs is not known: Vela's `ethos-u` has scratch among them.
    """
    constant = {number for number, tensor in enumerate(subgraph.tensors) if tensor.data is not None}
    variable = {number for number, tensor in enumerate(subgraph.tensors) if tensor.is_variable}
    known = constant | variable | set(subgraph.inputs)
    for entry in subgraph.operators:
        where = f"{place}.operators[{entry.index}] ({entry.operator})"
        is_known = entry.operator == CIRCULAR_BUFFER or not entry.operator.startswith("CUSTOM ")
        unknown = [number for number in entry.inputs if number >= 0 and number not in known]
        if unknown and is_known:
            raise Spoilt(f"{where}: reads tensor {unknown[0]}, which nothing has written")
        again = [number for number in entry.outputs if number in known and number not in variable]
        variable.difference_update(entry.outputs)
        if again or len(set(entry.outputs)) != len(entry.outputs):
            raise Spoilt(f"{where}: writes a tensor that is written already")
        known.update(entry.outputs)
    missing = [number for number in subgraph.outputs if number not in known]
    if missing:
        raise Spoilt(f"{place}.outputs: tensor {missing[0]} is written by no operator")
