"""ONNX arithmetic: Gemm, MatMul, elementwise operators, activations, Softmax, BatchNormalization."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array, Tensor
from tilewright.importers.construction import Unsupported, broadcast
from tilewright.importers.onnx.context import Call

Translate = Callable[[Call], None]
_MOST_AXES = 4
"""The most axes of a product's operands that kernels take; of more, the batch axes become one."""


def gemm(call: Call) -> None:
    """alpha * A' * B' + beta * C. Factors are multiplied into constants; without a constant they are a Mul.

    ONNX's Gemm has matrices. Deeploy's networks, as what joins MatMul and Add, have as many of them as the leading axes
    of A and B say.
    """
    a, b = call.real(0), call.real(1)
    if not 2 <= len(a.shape) == len(b.shape) <= _MOST_AXES or a.shape[:-2] != b.shape[:-2]:
        raise Unsupported(f"operands of shape {list(a.shape)} and {list(b.shape)}")
    transpose_a, transpose_b = bool(call.attribute("transA", 0)), bool(call.attribute("transB", 0))
    rows, depth = a.shape[-2:][::-1] if transpose_a else a.shape[-2:]
    inner, columns = b.shape[-2:][::-1] if transpose_b else b.shape[-2:]
    if depth != inner:
        raise Unsupported(f"operands of shape {list(a.shape)} and {list(b.shape)}")
    shape = (*a.shape[:-2], rows, columns)
    alpha, beta = float(call.attribute("alpha", 1.0)), float(call.attribute("beta", 1.0))
    scales_sums = _leaves_8_bits(call, alpha)
    scaled = b.name if scales_sums else _scaled(call, 1, alpha, "alpha")
    with_c = call.has(2) and beta != 0.0
    c = _scaled(call, 2, beta, "beta") if with_c else ""
    bias = with_c and len(shape) == 2 and not scales_sums and _is_bias(call, c, columns)
    is_added = with_c and not bias
    inputs = [a.name, scaled, _flat(call, c)] if bias else [a.name, scaled]
    part = "product" if is_added or scales_sums else ""
    product = _product(call, inputs, shape, transpose_a, transpose_b, part)
    if scales_sums:
        factor = call.literal(np.float32(alpha).reshape(()), f"{call.node.outputs[0]}/alpha")
        part = "times_alpha" if is_added else ""
        product = call.emit("Mul", [product, factor], shape, _BINARY_ATTRIBUTES, part=part)
    if is_added:
        if broadcast(shape, call.build.tensor(c).shape) != shape:
            raise Unsupported(f"C of shape {list(call.build.tensor(c).shape)} for a product of shape {list(shape)}")
        call.emit("Add", [product, c], shape, _BINARY_ATTRIBUTES)


def _leaves_8_bits(call: Call, alpha: float) -> bool:
    """Whether B holds 8-bit integers of the Deeploy dialect that ``alpha`` makes wider, which no kernel multiplies."""
    known = call.known(1)
    if known is None or not call.build.integers_in_floats:
        return False
    return bool(_is_8_bit(known) and not _is_8_bit(known * alpha))


def _is_8_bit(values: Array) -> bool:
    return bool(values.min(initial=0) >= -128 and values.max(initial=0) <= 127)


def _scaled(call: Call, index: int, factor: float, what: str) -> str:
    """The name of an operand multiplied by a factor."""
    tensor = call.real(index)
    if factor == 1.0:
        return tensor.name
    known = call.known(index)
    if known is not None:
        return call.literal((known * factor).astype(known.dtype), f"{tensor.name}/{what}")
    scalar = call.literal(np.float32(factor).reshape(()), f"{call.node.outputs[0]}/{what}")
    return call.emit("Mul", [tensor.name, scalar], tensor.shape, _BINARY_ATTRIBUTES, part=f"times_{what}")


def _is_bias(call: Call, name: str, columns: int) -> bool:
    """Whether C adds one value to each column and can be brought to shape [columns] at compile time."""
    shape = call.build.tensor(name).shape
    if shape == (columns,):
        return True
    return name in call.build.constants and prod(shape[:-1]) == 1 and (shape[-1:] or (1,))[0] in (1, columns)


def _flat(call: Call, name: str) -> str:
    columns = call.input(1).shape[0 if call.attribute("transB", 0) else 1]
    tensor = call.build.tensor(name)
    if tensor.shape == (columns,):
        return name
    values = np.broadcast_to(call.build.constants[name].reshape(-1), (columns,))
    return call.literal(np.ascontiguousarray(values), f"{name}/row")


def _product(
    call: Call, inputs: list[str], shape: tuple[int, ...], transpose_a: bool, transpose_b: bool, part: str
) -> str:
    attributes = {
        "transpose_a": transpose_a,
        "transpose_b": transpose_b,
        "a_zero_point": 0,
        "b_zero_point": (0,),
    }
    return call.emit("MatMul", inputs, shape, attributes, part=part)


def matmul(call: Call) -> None:
    """The product of matrices, as NumPy's ``matmul``."""
    a, b = call.real(0), call.real(1)
    left, right = len(a.shape) == 1, len(b.shape) == 1
    if not a.shape or not b.shape:
        raise Unsupported("a scalar operand")
    a_shape = (1, *a.shape) if left else a.shape
    b_shape = (*b.shape, 1) if right else b.shape
    if a_shape[-1] != b_shape[-2]:
        raise Unsupported(f"operands of shape {list(a.shape)} and {list(b.shape)}")
    a_name = call.emit("Reshape", [a.name], a_shape, part="row") if left else a.name
    b_name = _column(call, b) if right else b.name
    shape = (*broadcast(a_shape[:-2], b_shape[:-2]), a_shape[-2], b_shape[-1])
    if len(shape) > _MOST_AXES:
        rows = [_batched(call, name, shape[:-2], word) for name, word in ((a_name, "a"), (b_name, "b"))]
        alone = all(len(call.build.tensor(name).shape) == len(shape[-2:]) for name in rows)
        flat = shape[-2:] if alone else (prod(shape[:-2]), *shape[-2:])
        product = _product(call, rows, flat, False, False, part="product")
        kept = (*shape[:-2], *(() if left else shape[-2:-1]), *(() if right else shape[-1:]))
        call.emit("Reshape", [product], kept)
        return
    product = _product(call, [a_name, b_name], shape, False, False, part="product" if left or right else "")
    if left or right:
        kept = (*shape[:-2], *(() if left else shape[-2:-1]), *(() if right else shape[-1:]))
        call.emit("Reshape", [product], kept)


def _batched(call: Call, name: str, batch: tuple[int, ...], word: str) -> str:
    """An operand with one batch axis for all of ``batch``; without that axis if all matrices are one."""
    shape = call.build.tensor(name).shape
    if prod(shape[:-2]) == 1:
        return _reshaped(call, name, shape[-2:], f"{word}_matrix")
    whole = (*batch, *shape[-2:])
    if shape != whole:
        name = call.emit("Expand", [name], whole, part=f"{word}_expanded")
    return _reshaped(call, name, (prod(batch), *shape[-2:]), f"{word}_batch")


def _reshaped(call: Call, name: str, shape: tuple[int, ...], part: str) -> str:
    known = call.build.constants.get(name)
    if known is not None:
        return call.literal(known.reshape(shape), f"{name}/{part}")
    return call.emit("Reshape", [name], shape, part=part)


def _column(call: Call, b: Tensor) -> str:
    known = call.known(1)
    if known is not None:
        return call.literal(known.reshape(-1, 1), f"{b.name}/column")
    return call.emit("Reshape", [b.name], (*b.shape, 1), part="column")


_BINARY_ATTRIBUTES = MappingProxyType({"a_zero_point": 0, "b_zero_point": 0})


def _binary(operator: str) -> Translate:
    """Elementwise with broadcasting."""

    def translate(call: Call) -> None:
        a, b = call.real(0), call.real(1)
        attributes = {} if operator == "Div" else _BINARY_ATTRIBUTES
        call.emit(operator, [a.name, b.name], broadcast(a.shape, b.shape), attributes)

    return translate


def sum_(call: Call) -> None:
    """Adds one tensor after the other. They broadcast."""
    parts = [call.real(index) for index in range(len(call.node.inputs))]
    if len(parts) == 1:
        call.emit("Reshape", [parts[0].name], parts[0].shape)
        return
    total, shape = parts[0].name, parts[0].shape
    for number, part in enumerate(parts[1:], start=1):
        shape = broadcast(shape, part.shape)
        word = "" if number == len(parts) - 1 else f"sum{number}"
        total = call.emit("Add", [total, part.name], shape, _BINARY_ATTRIBUTES, part=word)


def relu(call: Call) -> None:
    """The larger of x and 0."""
    x = call.real(0)
    call.emit("Clip", [x.name], x.shape, {"minimum": 0.0, "maximum": float("inf")})


def clip(call: Call) -> None:
    """Clip with bounds from attributes (opset < 11) or constant inputs."""
    x = call.real(0)
    if call.build.opset < 11:
        bounds = (float(call.attribute("min", -np.inf)), float(call.attribute("max", np.inf)))
    else:
        low = call.constant(1, "the minimum").reshape(-1)[0] if call.has(1) else -np.inf
        high = call.constant(2, "the maximum").reshape(-1)[0] if call.has(2) else np.inf
        bounds = (low, high)
    call.emit("Clip", [x.name], x.shape, {"minimum": float(bounds[0]), "maximum": float(bounds[1])})


def _unary(operator: str, **defaults: float) -> Translate:
    """Computes the function of that name for each element."""

    def translate(call: Call) -> None:
        x = call.real(0)
        attributes = {name: float(call.attribute(name, value)) for name, value in defaults.items()}
        call.emit(operator, [x.name], x.shape, attributes)

    return translate


def softmax(call: Call) -> None:
    """Softmax. Before opset 13 it runs over all axes from ``axis`` on at once, as one axis."""
    x = call.real(0)
    rank = len(x.shape)
    if call.build.opset >= 13 or (call.build.last_axis_softmax and call.attribute("axis") is None):
        call.emit("Softmax", [x.name], x.shape, {"axis": call.axis(int(call.attribute("axis", -1)), rank)})
        return
    axis = call.axis(int(call.attribute("axis", 1)), rank)
    long = [position for position in range(axis, rank) if x.shape[position] > 1]
    if len(long) <= 1:
        call.emit("Softmax", [x.name], x.shape, {"axis": long[0] if long else axis})
        return
    flat = (prod(x.shape[:axis]), prod(x.shape[axis:]))
    rows = call.emit("Reshape", [x.name], flat, part="rows")
    result = call.emit("Softmax", [rows], flat, {"axis": 1}, part="softmax")
    call.emit("Reshape", [result], x.shape)


def batch_normalization(call: Call) -> None:
    """scale * (x - mean) / sqrt(var + epsilon) + B as Mul and Add of constants."""
    x = call.real(0)
    if call.attribute("training_mode", 0) or any(call.node.outputs[1:]):
        raise Unsupported("training mode", "export for inference")
    if call.attribute("spatial", 1) == 0:
        raise Unsupported("statistics for each position (spatial = 0)")
    scale, shift, mean, variance = (
        call.constant(index, what).astype(np.float64).reshape(-1)
        for index, what in ((1, "scale"), (2, "B"), (3, "the mean"), (4, "the variance"))
    )
    channels = x.shape[1] if len(x.shape) > 1 else 1
    if any(values.size != channels for values in (scale, shift, mean, variance)):
        raise Unsupported(f"statistics do not have {channels} channels")
    factor = scale / np.sqrt(variance + float(call.attribute("epsilon", 1e-5)))
    offset = shift - mean * factor
    target = call.node.outputs[0]
    factors = call.literal(_along_channels(factor, len(x.shape)), f"{target}/factor")
    offsets = call.literal(_along_channels(offset, len(x.shape)), f"{target}/offset")
    product = call.emit("Mul", [x.name, factors], x.shape, _BINARY_ATTRIBUTES, part="scaled")
    call.emit("Add", [product, offsets], x.shape, _BINARY_ATTRIBUTES)


def _along_channels(values: Array, rank: int) -> Array:
    return values.astype(np.float32).reshape(-1, *(1,) * max(rank - 2, 0))


ARITHMETIC: Mapping[str, Translate] = MappingProxyType(
    {
        "Gemm": gemm,
        "MatMul": matmul,
        "Add": _binary("Add"),
        "Sub": _binary("Sub"),
        "Mul": _binary("Mul"),
        "Div": _binary("Div"),
        "Sum": sum_,
        "Relu": relu,
        "Clip": clip,
        "LeakyRelu": _unary("LeakyRelu", alpha=0.01),
        "Sigmoid": _unary("Sigmoid"),
        "Tanh": _unary("Tanh"),
        "HardSwish": _unary("HardSwish"),
        "HardSigmoid": _unary("HardSigmoid", alpha=0.2, beta=0.5),
        "Softmax": softmax,
        "BatchNormalization": batch_normalization,
    }
)
