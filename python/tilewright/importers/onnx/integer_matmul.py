"""Gemm and MatMul of int32 and int64: products of all pairs, and their sums, which wrap as ONNX's integers do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.graph import DType, Tensor
from tilewright.importers.construction import MAX_RANK, Unsupported, broadcast
from tilewright.importers.onnx.context import Call

Translate = Callable[[Call], None]

_COMPUTED = (DType.INT32, DType.INT64)


def gemm(call: Call, floats: Translate) -> None:
    """alpha * A' * B' + beta * C. Factors are multiplied into constants; without a constant they are a Mul.

    Of int32 and int64 the factors are integers.
    """
    if not _is_integer(call):
        floats(call)
        return
    a, b = _operands(call)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise Unsupported(f"operands of shape {list(a.shape)} and {list(b.shape)}")
    names = [_transposed(call, tensor, attribute) for tensor, attribute in ((a, "transA"), (b, "transB"))]
    has_c, alpha, beta = call.has(2), _factor(call, "alpha"), _factor(call, "beta")
    has_c = has_c and beta != 0
    product = _product(call, names[0], names[1], "product" if has_c or alpha != 1 else "")
    shape = call.build.tensor(product).shape
    if alpha != 1:
        factor = call.literal(np.asarray(alpha, a.dtype.numpy), f"{product}/alpha")
        product = call.emit("MulInteger", [product, factor], shape, part="times_alpha" if has_c else "")
    if not has_c:
        return
    c = call.input(2)
    if c.dtype is not a.dtype or broadcast(shape, c.shape) != shape:
        raise Unsupported(f"C {c.dtype.value}{list(c.shape)} for a product {a.dtype.value}{list(shape)}")
    addend = c.name
    if beta != 1:
        factor = call.literal(np.asarray(beta, a.dtype.numpy), f"{product}/beta")
        addend = call.emit("MulInteger", [addend, factor], c.shape, part="times_beta")
    call.emit("AddInteger", [product, addend], shape)


def matmul(call: Call, floats: Translate) -> None:
    """The product of matrices, as NumPy's ``matmul``."""
    if not _is_integer(call):
        floats(call)
        return
    a, b = _operands(call)
    if not a.shape or not b.shape:
        raise Unsupported("a scalar operand")
    left, right = len(a.shape) == 1, len(b.shape) == 1
    a_name = _reshaped(call, a.name, (1, *a.shape), "row") if left else a.name
    b_name = _reshaped(call, b.name, (*b.shape, 1), "column") if right else b.name
    product = _product(call, a_name, b_name, "product" if left or right else "")
    if left or right:
        shape = call.build.tensor(product).shape
        call.emit("Reshape", [product], (*shape[:-2], *(() if left else shape[-2:-1]), *(() if right else shape[-1:])))


def _is_integer(call: Call) -> bool:
    return call.has(0) and call.input(0).dtype in _COMPUTED and not call.build.integers_in_floats


def _operands(call: Call) -> tuple[Tensor, Tensor]:
    a, b = call.input(0), call.input(1)
    if a.dtype is not b.dtype:
        raise Unsupported(f"operands of types {a.dtype.value} and {b.dtype.value}", "insert a Cast")
    return a, b


def _factor(call: Call, name: str) -> int:
    value = float(call.attribute(name, 1.0))
    if value != int(value):
        raise Unsupported(f"{name} = {value:g} on integers", "use a whole number, or a Cast to float32")
    return int(value)


def _transposed(call: Call, tensor: Tensor, attribute: str) -> str:
    if not call.attribute(attribute, 0):
        return tensor.name
    return call.emit("Transpose", [tensor.name], tensor.shape[::-1], {"perm": (1, 0)}, part=attribute)


def _product(call: Call, a: str, b: str, part: str) -> str:
    a_shape, b_shape = call.build.tensor(a).shape, call.build.tensor(b).shape
    if a_shape[-1] != b_shape[-2]:
        raise Unsupported(f"operands of shape {list(a_shape)} and {list(b_shape)}")
    batch = broadcast(a_shape[:-2], b_shape[:-2])
    pairs = (*batch, a_shape[-2], a_shape[-1], b_shape[-1])
    if len(pairs) > MAX_RANK:
        raise Unsupported(f"{len(batch)} batch axes of integers", "flatten them")
    rows = _reshaped(call, a, (*a_shape, 1), "rows")
    columns = _reshaped(call, b, (*b_shape[:-2], 1, *b_shape[-2:]), "columns")
    products = call.emit("MulInteger", [rows, columns], pairs, part="pairs")
    axis = len(pairs) - 2
    reduction = {"axes": (axis,), "keepdims": False}
    return call.emit("ReduceSum", [products], (*pairs[:axis], pairs[-1]), reduction, part=part)


def _reshaped(call: Call, name: str, shape: tuple[int, ...], part: str) -> str:
    known = call.build.constants.get(name)
    if known is not None:
        return call.literal(known.reshape(shape), f"{name}/{part}")
    return call.emit("Reshape", [name], shape, part=part)
