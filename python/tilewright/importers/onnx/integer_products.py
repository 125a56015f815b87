"""ConvInteger and MatMulInteger, and fused float operators of com.microsoft.

Constant zero points are attributes of the integer operator. One of x that is computed at run time,
as DynamicQuantizeLinear does, is taken out of the sums: sum w * (x - z) = sum w * x - z * sum w.
Other cases compute in float32, if it holds all sums exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tilewright.graph import Array, DType, Tensor
from tilewright.graph.edit import with_attributes
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.qoperator.nodes import Translators, inner

_EIGHT_BIT = frozenset({DType.INT8, DType.UINT8})
_EXACT_DEPTH = (1 << 24) // (255 * 255)
_NO_ZERO_POINTS = {"a_zero_point": 0, "b_zero_point": 0}


def integer_products(earlier: Translators) -> Translators:
    """Translators by operator; ``earlier`` has those of the float operators."""
    return {
        "ConvInteger": lambda call: _conv_integer(call, earlier),
        "MatMulInteger": lambda call: _matmul_integer(call, earlier),
        "FusedMatMul": lambda call: _fused_matmul(call, earlier),
        "FusedConv": lambda call: _fused_conv(call, earlier),
        "FusedGemm": lambda call: _fused_gemm(call, earlier),
    }


def _conv_integer(call: Call, earlier: Translators) -> None:
    """ConvInteger(x, w, x zero point, w zero point); w and its zero point should be constant."""
    x, w = _eight_bit(call, 0), _eight_bit(call, 1)
    weights, points = call.known(1), _points(call, 3)
    if weights is None or points is None:
        _in_floats(call, earlier, "Conv", prod(w.shape[1:]), (w.shape[0], *(1,) * (len(w.shape) - 1)))
        return
    if points.size not in (1, w.shape[0]):
        raise Unsupported(f"{points.size} zero points of w for {w.shape[0]} channels")
    signed, w_points = _signed(weights, points)
    literal = call.literal(signed, f"{w.name}/int8")
    x_point = _points(call, 2)
    changes = {"w_zero_point": w_points, "x_zero_point": 0 if x_point is None else _one(x_point)}
    sums = _integer(call, earlier, "Conv", [x.name, literal], changes, "" if x_point is not None else "sums")
    if x_point is None:
        # Taps in the padding read x = z, which counts nothing: a constant convolution of ones tells which do.
        ones = call.literal(np.ones((1, *x.shape[1:]), np.int8), f"{call.node.outputs[0]}/ones")
        counted = _integer(call, earlier, "Conv", [ones, literal], {"w_zero_point": w_points}, "counted")
        _take_out(call, sums, call.input(2).name, counted)


def _matmul_integer(call: Call, earlier: Translators) -> None:
    """MatMulInteger(a, b, a zero point, b zero point)."""
    a, b = _eight_bit(call, 0), _eight_bit(call, 1)
    a_point, b_point = _points(call, 2), _points(call, 3)
    matrix = call.known(1)
    columns = b.shape[-1] if len(b.shape) > 1 else 1
    one_a = a_point is not None and a_point.size == 1
    flat_b = b_point is not None and (b_point.size == 1 or (b_point.size == columns and matrix is not None))
    if b_point is None or not flat_b or (not one_a and (matrix is None or len(a.shape) < 2 or len(b.shape) < 2)):
        _in_floats(call, earlier, "MatMul", a.shape[-1], ())
        return
    name, points = b.name, tuple(int(point) for point in b_point.reshape(-1))
    if matrix is not None:
        signed, points = _signed(matrix, b_point)
        name = call.literal(signed, f"{b.name}/int8")
    known = _one(a_point) if one_a and a_point is not None else 0
    changes = {"a_zero_point": known, "b_zero_point": points}
    sums = _integer(call, earlier, "MatMul", [a.name, name], changes, "" if one_a else "sums")
    if not one_a and matrix is not None:
        total = (matrix.astype(np.int64) - b_point.astype(np.int64).reshape(-1)).sum(axis=-2, keepdims=True)
        _take_out(call, sums, _rows(call, a), call.literal(total.astype(np.int32), f"{b.name}/sums"))


def _rows(call: Call, a: Tensor) -> str:
    """The zero point of a, one for all rows or one for each, shaped to broadcast over the product."""
    point = call.input(2)
    if point.elements == 1:
        return point.name
    if point.shape == a.shape[-2:-1]:
        return call.emit("Reshape", [point.name], (*point.shape, 1), part="rows")
    if point.shape != (*a.shape[:-1], 1):
        raise Unsupported(f"zero points of shape {list(point.shape)} for {list(a.shape)}")
    return point.name


def _take_out(call: Call, sums: str, zero_point: str, totals: str) -> None:
    """sums - zero point * totals, in int32."""
    shape = call.build.tensor(sums).shape
    point = call.build.tensor(zero_point)
    if point.elements == 1 and point.shape:
        zero_point = call.emit("Reshape", [zero_point], (), part="point")
    shapes = [call.build.tensor(name).shape for name in (zero_point, totals)]
    product = tuple(int(extent) for extent in np.broadcast_shapes(*shapes))
    share = call.emit("Mul", [zero_point, totals], product, _NO_ZERO_POINTS, dtype=DType.INT32, part="share")
    call.emit("Sub", [sums, share], shape, _NO_ZERO_POINTS, dtype=DType.INT32)


def _integer(
    call: Call, earlier: Translators, operator: str, inputs: Sequence[str], changes: Mapping[str, Any], part: str
) -> str:
    """Conv or MatMul on stored integers, which gives int32."""
    first = len(call.build.nodes)
    integers = Call(call.node, replace(call.build, integers_in_floats=True))
    output = inner(integers, earlier[operator], operator, inputs, call.node.attributes, part)
    summed = False
    for position in range(first, len(call.build.nodes)):
        node = call.build.nodes[position]
        if node.operator == operator:
            summed = True
            call.build.nodes[position] = with_attributes(node, **changes)
        if summed:
            tensor = call.build.tensors[node.outputs[0]]
            call.build.tensors[tensor.name] = replace(tensor, dtype=DType.INT32)
    return output


def _in_floats(call: Call, earlier: Translators, operator: str, depth: int, channels: tuple[int, ...]) -> None:
    """The product of dequantised operands. Float32 holds its sums exactly up to 2^24."""
    if depth > _EXACT_DEPTH:
        raise Unsupported(
            f"weights or zero points are computed at run time, with {depth} products in a sum",
            f"make them constants; up to {_EXACT_DEPTH} products are exact in float32",
        )
    operands = []
    for index, along in ((0, ()), (1, channels)):
        x = call.input(index)
        real = call.emit("Cast", [x.name], x.shape, dtype=DType.FLOAT32, part=f"real{index}")
        if call.has(index + 2):
            point = call.input(index + 2)
            shape = along if point.elements > 1 and along else point.shape
            if index == 0 and operator == "MatMul" and point.elements > 1:
                shape = (*point.shape, 1) if len(point.shape) == 1 else point.shape
            if shape != point.shape:
                point = call.build.tensor(call.emit("Reshape", [point.name], shape, part=f"point{index}"))
            offset = call.emit("Cast", [point.name], point.shape, dtype=DType.FLOAT32, part=f"offset{index}")
            real = inner(call, earlier["Sub"], "Sub", [real, offset], {}, f"centred{index}")
        operands.append(real)
    product = inner(call, earlier[operator], operator, operands, call.node.attributes, "product")
    call.emit("Cast", [product], call.build.tensor(product).shape, dtype=DType.INT32)


def _eight_bit(call: Call, index: int) -> Tensor:
    x = call.input(index)
    if x.dtype not in _EIGHT_BIT:
        raise Unsupported(f"input {index} has type {x.dtype.value}", "int8 and uint8 are supported")
    return x


def _points(call: Call, index: int) -> Array | None:
    """Zero points, one 0 where there are none; None if they are computed at run time."""
    return call.known(index) if call.has(index) else np.zeros(1, np.int64)


def _one(points: Array) -> int:
    if points.size != 1:
        raise Unsupported(f"{points.size} zero points of the first operand", "use one")
    return int(points.reshape(-1)[0])


def _signed(weights: Array, points: Array) -> tuple[Array, tuple[int, ...]]:
    """Constant weights as int8, and their zero points."""
    offset = 128 if weights.dtype == np.uint8 else 0
    signed: Array = (weights.astype(np.int16) - offset).astype(np.int8)
    return signed, tuple(int(point) - offset for point in points.reshape(-1))


def _fused_matmul(call: Call, earlier: Translators) -> None:
    """FusedMatMul: alpha * A' * B'."""
    names = []
    for index, side in enumerate("AB"):
        x = call.real(index)
        rank = len(x.shape)
        perm = tuple(range(rank))
        if rank > 2 and call.attribute(f"transBatch{side}", 0):
            # The first axis is that of rows, the batch follows it.
            perm = (*range(1, rank - 1), 0, rank - 1)
        if rank > 1 and call.attribute(f"trans{side}", 0):
            perm = (*perm[:-2], perm[-1], perm[-2])
        if perm == tuple(range(rank)):
            names.append(x.name)
            continue
        shape = [x.shape[axis] for axis in perm]
        names.append(call.emit("Transpose", [x.name], shape, {"perm": perm}, part=f"transposed{index}"))
    alpha = float(call.attribute("alpha", 1.0))
    product = inner(call, earlier["MatMul"], "MatMul", names, {}, "" if alpha == 1.0 else "product")
    if alpha != 1.0:
        factor = call.literal(np.asarray(alpha, np.float32), f"{call.node.outputs[0]}/alpha")
        inner(call, earlier["Mul"], "Mul", [product, factor], {}, "")


def _fused_conv(call: Call, earlier: Translators) -> None:
    """FusedConv: Conv, then an addend (input 3), then an activation."""
    steps = [("Conv", [name for name in call.node.inputs[:3] if name], dict(call.node.attributes))]
    if call.has(3):
        steps.append(("Add", [call.node.inputs[3]], {}))
    _chain(call, earlier, steps, list(call.numbers("activation_params", ())))


def _fused_gemm(call: Call, earlier: Translators) -> None:
    """FusedGemm: Gemm, then an activation."""
    steps = [("Gemm", list(call.node.inputs), dict(call.node.attributes))]
    named = ("activation_alpha", "activation_beta", "activation_gamma")
    _chain(
        call, earlier, steps, [float(call.attribute(name, 0.0)) for name in named if call.attribute(name) is not None]
    )


def _chain(
    call: Call, earlier: Translators, steps: list[tuple[str, list[str], dict[str, Any]]], parameters: list[float]
) -> None:
    """The steps one after the other, each reading what the one before gave, and the activation."""
    activation = str(call.attribute("activation", "") or "")
    if activation == "Clip":
        bounds = [call.literal(np.asarray(v, np.float32), f"{call.node.outputs[0]}/bound") for v in parameters[:2]]
        steps.append(("Clip", bounds, dict(zip(("min", "max"), parameters, strict=False))))
    elif activation in ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid"):
        steps.append((activation, [], dict(zip(("alpha", "beta"), parameters, strict=False))))
    elif activation:
        raise Unsupported(f"activation '{activation}'", "use a node of its own")
    value = ""
    for number, (operator, inputs, attributes) in enumerate(steps):
        operands = [value, *inputs] if number else inputs
        part = "" if number == len(steps) - 1 else f"step{number}"
        value = inner(call, earlier[operator], operator, operands, attributes, part)
