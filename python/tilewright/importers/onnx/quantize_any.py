"""QuantizeLinear and DequantizeLinear with blocks, or with scales and zero points known at run time only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tilewright.graph import DType
from tilewright.importers.construction import Unsupported, broadcast
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.elementwise import ELEMENT_TYPES, typed

Translate = Callable[[Call], None]

_FLOAT = frozenset({DType.FLOAT32})
_EIGHT_BIT = frozenset({DType.INT8, DType.UINT8})
_STORED = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32})
_OFFSETS: Mapping[str, int] = MappingProxyType({"a_zero_point": 0, "b_zero_point": 0})


def _is_plain(call: Call) -> bool:
    """Whether scale and zero point are constants without blocks."""
    return all(call.known(index) is not None for index in (1, 2) if call.has(index)) and not call.attribute(
        "block_size", 0
    )


def quantize(call: Call, plain: Translate) -> None:
    """clip(round(x / scale) + zero point)."""
    if _is_plain(call):
        plain(call)
        return
    x = typed(call, 0, _FLOAT)
    scale = _aligned(call, 1, "scale")
    if call.has(2):
        dtype = typed(call, 2, _EIGHT_BIT).dtype
        zero_point = _aligned(call, 2, "zero_point")
    else:
        number = int(call.attribute("output_dtype", 0) or 2)
        if number not in (2, 3):
            raise Unsupported(f"ONNX element type {number}", "int8 and uint8 are supported")
        dtype = DType(ELEMENT_TYPES[number])
        zero_point = call.literal(np.zeros((), dtype.numpy), f"{call.node.outputs[0]}/zero")
    source, shape = _blocked(call, x.name)
    part = "stored" if shape != x.shape else ""
    result = call.emit("QuantizeByOperand", [source, scale, zero_point], shape, dtype=dtype, part=part)
    if part:
        call.emit("Reshape", [result], x.shape, dtype=dtype)


def dequantize(call: Call, plain: Translate) -> None:
    """(x - zero point) * scale."""
    if _is_plain(call):
        plain(call)
        return
    x = typed(call, 0, _STORED)
    scale = _aligned(call, 1, "scale")
    source, shape = _blocked(call, x.name)
    real = call.emit("Cast", [source], shape, dtype=DType.FLOAT32, part="real")
    if call.has(2):
        point = _aligned(call, 2, "zero_point")
        offset = call.emit("Cast", [point], call.build.tensor(point).shape, dtype=DType.FLOAT32, part="offset")
        real = call.emit("Sub", [real, offset], shape, _OFFSETS, part="centred")
    part = "scaled" if shape != x.shape else ""
    result = call.emit("Mul", [real, scale], shape, _OFFSETS, part=part)
    if part:
        call.emit("Reshape", [result], x.shape)


def _block(call: Call) -> tuple[int, int]:
    """Axis and elements of a block; 0 if there are none."""
    x = call.input(0)
    block = int(call.attribute("block_size", 0))
    axis = call.axis(int(call.attribute("axis", 1)), len(x.shape)) if x.shape and len(x.shape) > 1 else 0
    if block < 0 or (block and not x.shape):
        raise Unsupported(f"blocks of {block} in {list(x.shape)}")
    return axis, block


def _ends_within_block(call: Call) -> bool:
    """Whether the last block of each line is shorter than the others."""
    axis, block = _block(call)
    return block > 0 and call.input(0).shape[axis] % block > 0


def _blocked(call: Call, name: str) -> tuple[str, tuple[int, ...]]:
    """x with its axis split into blocks."""
    x = call.build.tensor(name)
    axis, block = _block(call)
    if not block or _ends_within_block(call):
        return name, x.shape
    shape = (*x.shape[:axis], x.shape[axis] // block, block, *x.shape[axis + 1 :])
    return call.emit("Reshape", [name], shape, dtype=x.dtype, part="blocks"), shape


def _aligned(call: Call, index: int, what: str) -> str:
    """A scale or zero point in a shape that broadcasts to x, blocks included."""
    x, values = call.input(0), call.input(index)
    axis, block = _block(call)
    if _ends_within_block(call):
        return _for_each_element(call, index, what)
    if block:
        shape = (*values.shape[: axis + 1], 1, *values.shape[axis + 1 :])
        expected = (*x.shape[:axis], x.shape[axis] // block, *x.shape[axis + 1 :])
        if values.shape != expected:
            raise Unsupported(f"{what} of shape {list(values.shape)} for blocks {list(expected)}")
    elif values.elements == 1:
        shape = ()
    else:
        if values.shape != (x.shape[axis],):
            raise Unsupported(f"{what} of shape {list(values.shape)} for extent {x.shape[axis]}")
        shape = (values.elements, *(1,) * (len(x.shape) - axis - 1))
        broadcast(x.shape, shape)
    if shape == values.shape:
        return values.name
    return call.emit("Reshape", [values.name], shape, dtype=values.dtype, part=what)


def _for_each_element(call: Call, index: int, what: str) -> str:
    """A constant scale or zero point of blocks as one value for each element of x."""
    x, known = call.input(0), call.constant(index, what)
    axis, block = _block(call)
    expected = (*x.shape[:axis], -(-x.shape[axis] // block), *x.shape[axis + 1 :])
    if known.shape != expected:
        raise Unsupported(f"{what} of shape {list(known.shape)} for blocks {list(expected)}")
    each = np.take(np.repeat(known, block, axis), range(x.shape[axis]), axis)
    return call.literal(each, f"{call.node.outputs[0]}/{what}")


def quantize_any(earlier: Mapping[str, Translate]) -> Mapping[str, Translate]:
    """Translators by ONNX operator; ``earlier`` has those of constants."""
    return MappingProxyType(
        {
            "QuantizeLinear": lambda call: quantize(call, earlier["QuantizeLinear"]),
            "DequantizeLinear": lambda call: dequantize(call, earlier["DequantizeLinear"]),
        }
    )
