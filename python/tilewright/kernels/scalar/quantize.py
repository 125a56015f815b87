"""Float32 to integers and back, per tensor and per axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Graph, Node
from tilewright.kernels.c_structs import CStruct, Float32, Int32
from tilewright.kernels.element_types import ELEMENT_TYPES, INTEGERS, ElementType
from tilewright.kernels.float_common import ClampF32, clamp_attributes, clamp_of, fits_rank
from tilewright.kernels.kernel import MAX_RANK, ConstantOperand, Declaration, KernelChoice, Packing
from tilewright.kernels.scalar.elementwise_float import elementwise, elementwise_kernel
from tilewright.operators.nest import along, whole
from tilewright.operators.quantization import QuantizationAttributes

Axis = Annotated[Int32, "of the views; scales and zero points follow it"]


@dataclass(frozen=True, slots=True)
class QuantizeF32(CStruct):
    """y = (x / scale, rounded half to even, or half away from zero: quantize_away_f32) + zero point. Operands: x, y."""

    element_bytes: Annotated[Int32, "of y: 1 or 2"]
    scale: Float32
    zero_point: Int32
    minimum: Annotated[Int32, "of y's type"]
    maximum: Int32


@dataclass(frozen=True, slots=True)
class QuantizeAxisF32(CStruct):
    """y = (x / scale[i], rounded half to even) + zero point[i], i along an axis. Operands: x, scales float [extent],
    zero points int32 [extent], y.
    """

    element_bytes: Annotated[Int32, "of y: 1 or 2"]
    axis: Axis
    minimum: Annotated[Int32, "of y's type"]
    maximum: Int32


@dataclass(frozen=True, slots=True)
class DequantizeF32(CStruct):
    """y = (x - zero point) * scale. Operands: x, y."""

    x_type: ElementType
    scale: Float32
    zero_point: Int32
    clamp: ClampF32


@dataclass(frozen=True, slots=True)
class DequantizeAxisF32(CStruct):
    """y = (x - zero point[i]) * scale[i], i along an axis. Operands: x, scales float [extent],
    zero points int32 [extent], y.
    """

    x_type: ElementType
    axis: Axis
    clamp: ClampF32


_QUANTIZE_CYCLES = 22.0
_AWAY_CYCLES = 38.0
_QUANTIZE_AXIS_CYCLES = 38.0
_DEQUANTIZE_CYCLES = 13.0

_TARGETS = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)


def quantize(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Quantize to 8 or 16 bits."""
    source, target = graph.tensor(node.inputs[0]).dtype, graph.tensor(node.outputs[0]).dtype
    if source is not DType.FLOAT32 or target not in _TARGETS or node.epilogue is not None:
        return ()
    limits = np.iinfo(target.numpy)
    minimum, maximum = int(limits.min), int(limits.max)
    if not fits_rank(graph, (node.inputs[0],)):
        return ()
    if _is_single(node):
        scale, zero_point = _constants(node)
        attributes = QuantizeF32(target.size_bytes, float(scale[0]), int(zero_point[0]), minimum, maximum)
        kernel = _QUANTIZE_AWAY if node.given(QuantizationAttributes).half_away else _QUANTIZE
        return (elementwise(node, graph, kernel, attributes),)
    if node.given(QuantizationAttributes).half_away:
        return ()
    along_axis = QuantizeAxisF32(target.size_bytes, _view_axis(node, graph), minimum, maximum)
    return (_with_constants(elementwise(node, graph, _QUANTIZE_AXIS, along_axis), node, graph),)


def dequantize(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Dequantize of 8-, 16- and 32-bit integers."""
    source = graph.tensor(node.inputs[0]).dtype
    clamp = clamp_of(node)
    if source not in INTEGERS or clamp is None or graph.tensor(node.outputs[0]).dtype is not DType.FLOAT32:
        return ()
    if not fits_rank(graph, (node.inputs[0],)):
        return ()
    bounds, element = clamp_attributes(clamp), ELEMENT_TYPES[source]
    if _is_single(node):
        scale, zero_point = _constants(node)
        attributes = DequantizeF32(element, float(scale[0]), int(zero_point[0]), bounds)
        return (elementwise(node, graph, _DEQUANTIZE, attributes),)
    along_axis = DequantizeAxisF32(element, _view_axis(node, graph), bounds)
    return (_with_constants(elementwise(node, graph, _DEQUANTIZE_AXIS, along_axis), node, graph),)


def _constants(node: Node) -> tuple[Array, Array]:
    """Scales float32[n] and zero points int32[n] of a node."""
    given = node.given(QuantizationAttributes)
    return np.asarray(given.scale, np.float32), np.asarray(given.zero_point, np.int32)


def _is_single(node: Node) -> bool:
    """Whether the tensor has one scale and one zero point for all elements."""
    return max(values.size for values in _constants(node)) == 1


def _axis(node: Node) -> int:
    return node.given(QuantizationAttributes).axis or 0


def _view_axis(node: Node, graph: Graph) -> int:
    return MAX_RANK - len(graph.tensor(node.inputs[0]).shape) + _axis(node)


def _with_constants(choice: KernelChoice, node: Node, graph: Graph) -> KernelChoice:
    """The kernel along an axis: ``choice`` with scales and zero points as two more operands."""
    shape = graph.tensor(node.inputs[0]).shape
    axis = _axis(node)
    constants = (
        _constant(role, values, shape[axis], axis)
        for role, values in zip(("scale", "zero_point"), _constants(node), strict=True)
    )
    return replace(choice, reads=(*choice.reads, *constants))


def _constant(role: str, values: Array, extent: int, axis: int) -> ConstantOperand:
    """A constant operand with one value for each index of the axis."""
    axes = (whole(1) if extent == 1 else along(f"d{axis}"),)
    packing = Packing((extent,), values.dtype, lambda _: np.ascontiguousarray(np.broadcast_to(values, extent)))
    return ConstantOperand(role, packing, axes)


_QUANTIZE = elementwise_kernel("quantize_f32", QuantizeF32, _QUANTIZE_CYCLES)
_QUANTIZE_AWAY = elementwise_kernel("quantize_away_f32", QuantizeF32, _AWAY_CYCLES)
_QUANTIZE_AXIS = elementwise_kernel("quantize_axis_f32", QuantizeAxisF32, _QUANTIZE_AXIS_CYCLES)
_DEQUANTIZE = elementwise_kernel("dequantize_f32", DequantizeF32, _DEQUANTIZE_CYCLES)
_DEQUANTIZE_AXIS = elementwise_kernel("dequantize_axis_f32", DequantizeAxisF32, _DEQUANTIZE_CYCLES)

DECLARATION = Declaration(
    operators={"Quantize": quantize, "Dequantize": dequantize},
    kernels=(_QUANTIZE, _QUANTIZE_AWAY, _QUANTIZE_AXIS, _DEQUANTIZE, _DEQUANTIZE_AXIS),
)
