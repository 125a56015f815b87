"""Float32 to integers and back, per tensor and per axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.graph import Array, DType, Graph, Node
from tilewright.kernels.float_common import MAX_RANK, clamp_attributes, clamp_of, fits_rank
from tilewright.kernels.kernel import ConstantOperand, KernelChoice
from tilewright.kernels.scalar.elementwise_float import elementwise
from tilewright.operators.nest import along, whole
from tilewright.operators.quantization import QuantizationAttributes
from tilewright.plan import AttributeValue

_QUANTIZE_CYCLES = 38.0
_DEQUANTIZE_CYCLES = 13.0

_ELEMENTS = {DType.INT8: 0, DType.UINT8: 1, DType.INT16: 2, DType.UINT16: 3, DType.INT32: 4}
_TARGETS = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)


def quantize(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Quantize to 8 or 16 bits."""
    source, target = graph.tensor(node.inputs[0]).dtype, graph.tensor(node.outputs[0]).dtype
    if source is not DType.FLOAT32 or target not in _TARGETS or node.epilogue is not None:
        return ()
    limits = np.iinfo(target.numpy)
    bounds = (("minimum", int(limits.min)), ("maximum", int(limits.max)))
    return _choices(node, graph, "quantize", ("element_bytes", target.size_bytes), bounds, _QUANTIZE_CYCLES)


def dequantize(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Dequantize of 8-, 16- and 32-bit integers."""
    element = _ELEMENTS.get(graph.tensor(node.inputs[0]).dtype)
    clamp = clamp_of(node)
    if element is None or clamp is None or graph.tensor(node.outputs[0]).dtype is not DType.FLOAT32:
        return ()
    return _choices(node, graph, "dequantize", ("element", element), clamp_attributes(clamp), _DEQUANTIZE_CYCLES)


def _choices(
    node: Node,
    graph: Graph,
    stem: str,
    element: tuple[str, int],
    bounds: tuple[tuple[str, AttributeValue], ...],
    cycles: float,
) -> tuple[KernelChoice, ...]:
    if not fits_rank(graph, (node.inputs[0],)):
        return ()
    given = node.given(QuantizationAttributes)
    scale = np.asarray(given.scale, np.float32)
    zero_point = np.asarray(given.zero_point, np.int32)
    if max(scale.size, zero_point.size) == 1:
        parameters = (("scale", float(scale[0])), ("zero_point", int(zero_point[0])))
        return (elementwise(node, graph, f"{stem}_f32", (element, *parameters, *bounds), cycles),)
    shape = graph.tensor(node.inputs[0]).shape
    axis = given.axis or 0
    fields = (element, ("axis", MAX_RANK - len(shape) + axis), *bounds)
    choice = elementwise(node, graph, f"{stem}_axis_f32", fields, cycles)
    constants = (
        _constant("scale", np.broadcast_to(scale, shape[axis]), axis),
        _constant("zero_point", np.broadcast_to(zero_point, shape[axis]), axis),
    )
    return (replace(choice, reads=(*choice.reads, *constants)),)


def _constant(role: str, values: Array, axis: int) -> ConstantOperand:
    """One value for each index of the axis."""
    extent = int(values.shape[0])
    axes = (whole(1) if extent == 1 else along(f"d{axis}"),)
    return ConstantOperand(role, np.ascontiguousarray(values), axes)
