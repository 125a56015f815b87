"""Operators whose inputs are all dequantised compute on the stored integers.

Before:  Dequantize(x), Dequantize(w), Dequantize(b) -> Conv -> Clip -> Quantize
After:   Conv on x, w and int32 b, with a Requantize epilogue

An output that is not quantised once (a float output of the model, or one with several
readers) gets a Rescale epilogue from Conv and MatMul; other operators then stay float.

A bias is requantised to the accumulator's scale, round(bias / (x scale * w scale)), whatever
scale it is stored in. The rounding moves a result by at most half an accumulator unit; where
that exceeds 1/32 of an output step the operator stays float.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from math import prod
from types import MappingProxyType
from typing import Union

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.catalogue.operators import attributes_for, declared
from tilewright.graph import Array, DType, Epilogue, Node
from tilewright.graph.edit import GraphEditor, joined_sources, with_attributes
from tilewright.importers.qdq.match import Quantized, Weights, is_over_volumes, quantized, real_constant, weights
from tilewright.importers.qdq.tail import Tail, follow
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.interpolation import integer_tables
from tilewright.operators.matmul import MatMulAttributes
from tilewright.operators.operator import Integers, OnIntegers
from tilewright.operators.windows import InterpolateAttributes

_ALLOWED_BIAS_STEPS = 1.0 / 32.0
_ALLOWED_BIAS_RELATIVE = 1e-6
_INT32_MAX = int(np.iinfo(np.int32).max)
_Fused = Union[tuple[Node, Tail], None]
_Fuse = Callable[[GraphEditor, Node, OnIntegers], _Fused]


def fuse_operator(editor: GraphEditor, node: Node) -> bool:
    """Replace a float operator between Dequantize and Quantize by the integer operator."""
    way = declared(node).on_integers
    fuse = _FUSERS.get(way.computes)
    if fuse is None or node.epilogue is not None or editor.tensors[node.outputs[0]].dtype is not DType.FLOAT32:
        return False
    if is_over_volumes(node) and not way.over_volumes:
        return False
    fused = fuse(editor, node, way)
    if fused is None:
        return False
    new, tail = fused
    for absorbed in tail.absorbed:
        editor.remove(absorbed)
    sources = joined_sources(node, *tail.absorbed)
    editor.replace(node, replace(new, outputs=(tail.output.name,), sources=sources))
    return True


@dataclass(frozen=True, slots=True)
class _Accumulator:
    """The meaning and the bound of an integer sum of products.

    Attributes:
        scale: real value of one unit, one number for all channels or one for each channel.
        largest: bound of the absolute value without bias, one number or one for each channel.
        channels: number of output channels.
    """

    scale: Array
    largest: Array
    channels: int


def _weighted(editor: GraphEditor, node: Node, way: OnIntegers) -> _Fused:
    """Sums of products with constant weights, as of Conv and ConvTranspose."""
    x, w = quantized(editor, node.inputs[0]), weights(editor, node.inputs[1], way.channel_axis)
    if x is None or x.tensor.is_constant or w is None:
        return None
    accumulator = _for_channels(_of_constant(x, w, way.channel_axis), editor.tensors[node.outputs[0]].shape[1])
    bias = _optional_bias(node)
    tail = follow(editor, node, None if bias else 1)
    finish = _finish(editor, accumulator, bias or tail.bias, tail)
    if finish is None:
        return None
    bias, epilogue = finish
    operator = way.operator or node.operator
    inputs = (x.tensor.name, w.name, *((bias,) if bias else ()))
    points = {"x_zero_point": x.zero_point, "w_zero_point": w.zero_point}
    given = attributes_for(operator, {**asdict(node.attributes), **points})
    return replace(node, operator=operator, inputs=inputs, attributes=given, epilogue=epilogue), tail


def _for_channels(accumulator: _Accumulator, channels: int) -> _Accumulator:
    """The accumulator for all channels of the output, where each group has the same channels of transposed weights."""
    groups = channels // accumulator.channels
    scale, largest = (
        np.tile(values, groups) if values.size > 1 else values for values in (accumulator.scale, accumulator.largest)
    )
    return _Accumulator(scale, largest, channels)


def _matrices(editor: GraphEditor, node: Node, way: OnIntegers) -> _Fused:
    a = quantized(editor, node.inputs[0])
    if a is None:
        return None
    given, rank = node.given(MatMulAttributes), len(editor.tensors[node.inputs[1]].shape)
    columns = rank - 2 if given.transpose_b else rank - 1
    constant = weights(editor, node.inputs[1], columns)
    if constant is not None and not a.tensor.is_constant:
        accumulator = _of_constant(a, constant, columns)
        b_name, b_zero_point = constant.name, constant.zero_point
    else:
        b = quantized(editor, node.inputs[1])
        if b is None:
            return None
        accumulator = _of_activations(node, a, b)
        b_name, b_zero_point = b.tensor.name, (b.zero_point,)
    bias = _optional_bias(node)
    tail = follow(editor, node, None if bias else len(editor.tensors[node.outputs[0]].shape) - 1)
    finish = _finish(editor, accumulator, bias or tail.bias, tail)
    if finish is None:
        return None
    bias, epilogue = finish
    inputs = (a.tensor.name, b_name, *((bias,) if bias else ()))
    given = replace(given, a_zero_point=a.zero_point, b_zero_point=b_zero_point)
    return replace(node, inputs=inputs, attributes=given, epilogue=epilogue), tail


def _optional_bias(node: Node) -> str:
    return node.inputs[2] if len(node.inputs) > 2 else ""


def _of_constant(x: Quantized, w: Weights, channel_axis: int) -> _Accumulator:
    """Sums over all axes of w but the channels (more than one product if w has batch axes: a looser bound)."""
    channels = w.data.shape[channel_axis]
    shape = [-1 if axis == channel_axis else 1 for axis in range(w.data.ndim)]
    zero_point = np.asarray(w.zero_point, np.int64).reshape(shape if len(w.zero_point) > 1 else ())
    others = tuple(axis for axis in range(w.data.ndim) if axis != channel_axis)
    weight = np.abs(w.data.astype(np.int64) - zero_point).sum(axis=others)
    return _Accumulator(x.scale * np.asarray(w.scale, np.float64), weight * _reach(x), channels)


def _of_activations(node: Node, a: Quantized, b: Quantized) -> _Accumulator:
    given = node.given(MatMulAttributes)
    depth = a.tensor.shape[-2 if given.transpose_a else -1]
    channels = b.tensor.shape[-2 if given.transpose_b else -1]
    largest = np.asarray([depth * _reach(a) * _reach(b)])
    return _Accumulator(np.asarray([a.scale * b.scale], np.float64), largest, channels)


def _reach(x: Quantized) -> int:
    """The largest |x - zero point| of all values of x's type."""
    limits = np.iinfo(x.tensor.dtype.numpy)
    return max(abs(int(limits.min) - x.zero_point), abs(int(limits.max) - x.zero_point))


def _finish(editor: GraphEditor, accumulator: _Accumulator, bias: str, tail: Tail) -> tuple[str, Epilogue] | None:
    """The bias in accumulator units and the epilogue; None if 32 bits or the bias's error forbid it."""
    values = _bias(editor, accumulator, bias, tail) if bias else np.zeros(1, np.int64)
    if values is None or np.any(accumulator.largest + np.abs(values) > _INT32_MAX):
        return None
    name = editor.constant(f"{bias}/int32", values.astype(np.int32)).name if bias else ""
    return name, tail.epilogue(tuple(float(scale) for scale in accumulator.scale))


def _bias(editor: GraphEditor, accumulator: _Accumulator, bias: str, tail: Tail) -> Array | None:
    real = real_constant(editor, bias)
    if real is None:
        return None
    real = np.broadcast_to(real.reshape(-1), (accumulator.channels,))
    units = np.rint(real / accumulator.scale)
    error = np.abs(units * accumulator.scale - real)
    allowed = _ALLOWED_BIAS_STEPS * tail.scale if tail.quantize else _ALLOWED_BIAS_RELATIVE * np.abs(real)
    if not np.all(np.isfinite(units)) or np.any(error > allowed) or np.any(np.abs(units) > _INT32_MAX):
        return None
    return units.astype(np.int64)


def _sum(editor: GraphEditor, node: Node, way: OnIntegers) -> _Fused:
    operands = _two_operands(editor, node)
    tail = follow(editor, node)
    if operands is None or tail.quantize is None:
        return None
    a, b = operands
    sign = -1.0 if way.computes is Integers.DIFFERENCE else 1.0
    given = BinaryAttributes(a.zero_point, b.zero_point, a.scale / tail.scale, sign * b.scale / tail.scale)
    inputs = (a.tensor.name, b.tensor.name)
    epilogue = tail.epilogue((tail.scale,))
    return replace(node, operator="Add", inputs=inputs, attributes=given, epilogue=epilogue), tail


def _product(editor: GraphEditor, node: Node, way: OnIntegers) -> _Fused:
    operands = _two_operands(editor, node)
    tail = follow(editor, node)
    if operands is None or tail.quantize is None:
        return None
    a, b = operands
    given = BinaryAttributes(a.zero_point, b.zero_point)
    epilogue = tail.epilogue((a.scale * b.scale,))
    return replace(node, inputs=(a.tensor.name, b.tensor.name), attributes=given, epilogue=epilogue), tail


def _two_operands(editor: GraphEditor, node: Node) -> tuple[Quantized, Quantized] | None:
    a, b = quantized(editor, node.inputs[0]), quantized(editor, node.inputs[1])
    if a is None or b is None or (a.tensor.is_constant and b.tensor.is_constant):
        return None
    return a, b


def _one_operand(editor: GraphEditor, node: Node, way: OnIntegers) -> _Fused:
    x = quantized(editor, node.inputs[0])
    tail = follow(editor, node)
    if x is None or x.tensor.is_constant or tail.quantize is None:
        return None
    if way.computes is Integers.RATIO:
        unit, changes = 1.0, {"x_scale": x.scale}
    else:
        unit, changes = x.scale, {"x_zero_point": x.zero_point}
    moved = replace(node, inputs=(x.tensor.name,), epilogue=tail.epilogue((unit,)))
    return with_attributes(moved, **changes), tail


def _neighbours(editor: GraphEditor, node: Node, way: OnIntegers) -> _Fused:
    """Linear interpolation along one axis, or along two by two nodes, which round once together."""
    x, nodes = quantized(editor, node.inputs[0]), [node]
    following = editor.sole_reader(node.outputs[0])
    if following is not None and following.operator == node.operator:
        nodes.append(following)
    tail = follow(editor, nodes[-1])
    tables = dict(_weights_by_axis(editor, each) for each in nodes)
    if x is None or x.tensor.is_constant or tail.quantize is None or len(tables) < len(nodes):
        return None
    found = integer_tables(x.tensor.shape, tables)
    if found is None:
        return None
    tail.absorbed[:0] = nodes[1:]
    given = attributes_for(way.operator, {**found, "x_zero_point": x.zero_point})
    epilogue = tail.epilogue((x.scale / prod(found["units"]),))
    fused = replace(node, operator=way.operator, inputs=(x.tensor.name,), attributes=given, epilogue=epilogue)
    return fused, tail


def _weights_by_axis(editor: GraphEditor, node: Node) -> tuple[int, tuple[Array, Array]]:
    """The axis of an interpolation, and its tables of positions and weights, [output, tap]."""
    given = node.given(InterpolateAttributes)
    outputs = editor.tensors[node.outputs[0]].shape[given.axis]
    return given.axis, (np.asarray(given.indices).reshape(outputs, -1), np.asarray(given.weights).reshape(outputs, -1))


_FUSERS: Mapping[Integers, _Fuse] = MappingProxyType(
    {
        Integers.WEIGHTED: _weighted,
        Integers.MATRICES: _matrices,
        Integers.SUM: _sum,
        Integers.DIFFERENCE: _sum,
        Integers.PRODUCT: _product,
        Integers.MEAN: _one_operand,
        Integers.RATIO: _one_operand,
        Integers.NEIGHBOURS: _neighbours,
    }
)
