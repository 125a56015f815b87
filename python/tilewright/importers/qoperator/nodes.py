"""Operators on quantised tensors, as onnxruntime's quantiser writes them (QOperator format).

Before:  QLinearConv(x, x scale, x zero point, w, ..., y scale, y zero point, bias)
After:   Dequantize(x), Dequantize(w), Dequantize(bias) -> Conv -> Quantize

``qdq/fusion.py`` then makes integer operators of them, as it does of models in QDQ format. The shapes of
operators of com.microsoft follow from those of the ONNX operators that they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.graph import DType, Tensor
from tilewright.importers.construction import Unsupported, dtype_named
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.source import SourceNode
from tilewright.importers.onnx.spatial import windows_of_call
from tilewright.plan import Quantization

Translate = Callable[[Call], None]
Translators = Mapping[str, Translate]
_EIGHT_BIT = frozenset({DType.INT8, DType.UINT8})


def qoperators(earlier: Translators) -> Translators:
    """Translators by operator; ``earlier`` has those of the float operators."""
    pooled = {
        "QLinearAveragePool": _channels(_over_whole_windows(earlier["AveragePool"])),
        "QLinearGlobalAveragePool": _channels(earlier["GlobalAveragePool"]),
    }
    unary = {**pooled, "QLinearSigmoid": earlier["Sigmoid"], "QLinearLeakyRelu": earlier["LeakyRelu"]}
    if "ReduceMean" in earlier:
        unary["QLinearReduceMean"] = earlier["ReduceMean"]
    operators = {name: _unary(name, translate, earlier) for name, translate in unary.items()}
    operators["QLinearSoftmax"] = lambda call: _quantized_softmax(call, earlier)
    operators |= {f"QLinear{name}": _binary(name, earlier) for name in ("Add", "Mul")}
    if "Where" in earlier:
        operators["QLinearWhere"] = lambda call: _where(call, earlier)
    return {
        **operators,
        "QLinearConv": lambda call: _conv(call, earlier),
        "QLinearMatMul": lambda call: _matmul(call, earlier),
        "QLinearConcat": lambda call: _concat(call, earlier),
        "QGemm": lambda call: _gemm(call, earlier),
    }


def inner(
    call: Call, translate: Translate, operator: str, inputs: Sequence[str], attributes: Mapping[str, Any], part: str
) -> str:
    """Translate an operator that the node consists of; gives its output, which is the node's own without ``part``."""
    target = call.node.outputs[0]
    output = call.build.fresh(f"{target}/{part}") if part else target
    node = SourceNode(call.node.name, operator, "", tuple(inputs), (output,), attributes)
    translate(Call(node, call.build))
    return output


def real_input(call: Call, index: int, earlier: Translators, axis: int | None = None) -> str:
    """The dequantised input ``index``, whose scale and zero point follow it; scales may run along an axis."""
    x = call.input(index)
    if x.dtype not in _EIGHT_BIT:
        raise Unsupported(f"input {index} has type {x.dtype.value}", "int8 and uint8 are supported")
    scale, zero_point = call.known(index + 1), call.known(index + 2)
    if scale is None or (call.has(index + 2) and zero_point is None):
        names = [call.node.inputs[at] for at in range(index, index + 3) if call.has(at)]
        return inner(call, earlier["DequantizeLinear"], "DequantizeLinear", names, {}, f"real{index}")
    parameters = _parameters(scale, zero_point, axis, x.shape, index)
    name = call.emit("Dequantize", [x.name], x.shape, parameters, dtype=DType.FLOAT32, part=f"real{index}")
    _remember(call, x.name, parameters)
    return name


def stored_output(call: Call, real: str, index: int, earlier: Translators, dtype: DType | None = None) -> None:
    """Quantise the node's output by the scale and zero point that begin at input ``index``."""
    scale, zero_point = call.known(index), call.known(index + 1)
    if scale is None or (call.has(index + 1) and zero_point is None):
        names = [real, *(call.node.inputs[at] for at in (index, index + 1) if call.has(at))]
        inner(call, earlier["QuantizeLinear"], "QuantizeLinear", names, {}, "")
        return
    tensor = call.build.tensor(real)
    wanted = dtype_named(zero_point.dtype.name) if zero_point is not None else dtype or DType.UINT8
    if wanted not in _EIGHT_BIT:
        raise Unsupported(f"output of type {wanted.value}", "int8 and uint8 are supported")
    parameters = _parameters(scale, zero_point, None, tensor.shape, index)
    _remember(call, call.emit("Quantize", [real], tensor.shape, parameters, dtype=wanted), parameters)


def _parameters(
    scale: np.ndarray[Any, Any],
    zero_point: np.ndarray[Any, Any] | None,
    axis: int | None,
    shape: tuple[int, ...],
    index: int,
) -> dict[str, Any]:
    points = np.zeros(1, np.int64) if zero_point is None else zero_point.reshape(-1)
    count = max(scale.size, points.size)
    if count > 1 and (axis is None or shape[axis] != count or {scale.size, points.size} - {1, count}):
        raise Unsupported(f"{count} scales or zero points of input {index}", "quantise per tensor")
    return {
        "scale": tuple(float(value) for value in np.broadcast_to(scale.reshape(-1), (count,))),
        "zero_point": tuple(int(value) for value in np.broadcast_to(points, (count,))),
        "axis": axis if count > 1 else None,
    }


def _remember(call: Call, name: str, parameters: Mapping[str, Any]) -> None:
    """Note the meaning of the integers at their tensor, for headers and reports."""
    meaning = Quantization(parameters["scale"], parameters["zero_point"], parameters["axis"])
    call.build.tensors[name] = replace(call.build.tensors[name], quantization=meaning)


def _spread(call: Call, index: int, columns: int) -> Tensor:
    """A bias; one number for all of ``columns`` is written down for each, if it is constant."""
    bias, known = call.input(index), call.known(index)
    if known is None or known.size != 1 or not columns:
        return bias
    return call.build.tensor(call.literal(np.full(columns, known.reshape(-1)[0]), f"{bias.name}/columns"))


def _real_bias(
    call: Call, index: int, scale_of: tuple[int, int], factor: float, earlier: Translators, columns: int = 0
) -> str:
    """A bias in units of the product of two scales."""
    bias = _spread(call, index, columns)
    scales = [call.known(at) for at in scale_of]
    if bias.dtype is not DType.INT32 or len(bias.shape) not in (1, 2):
        raise Unsupported(f"a bias of type {bias.dtype.value} and shape {list(bias.shape)}", "int32 is supported")
    if scales[0] is None or scales[1] is None:
        left, right = (call.node.inputs[at] for at in scale_of)
        product = inner(call, earlier["Mul"], "Mul", [left, right], {}, "bias_scale")
        return inner(call, earlier["DequantizeLinear"], "DequantizeLinear", [bias.name, product], {"axis": 0}, "bias")
    scale = np.float64(factor) * scales[0].astype(np.float64).reshape(-1) * scales[1].astype(np.float64).reshape(-1)
    parameters = _parameters(scale, None, len(bias.shape) - 1, bias.shape, index)
    return call.emit("Dequantize", [bias.name], bias.shape, parameters, dtype=DType.FLOAT32, part="bias")


def _conv(call: Call, earlier: Translators) -> None:
    """QLinearConv; weights may have a scale for each output channel."""
    inputs = [real_input(call, 0, earlier), real_input(call, 3, earlier, axis=0)]
    if call.has(8):
        inputs.append(_real_bias(call, 8, (1, 4), 1.0, earlier))
    real = inner(call, earlier["Conv"], "Conv", inputs, call.node.attributes, "real")
    stored_output(call, real, 6, earlier)


def _matmul(call: Call, earlier: Translators) -> None:
    """QLinearMatMul; the first operand may have a scale for each row, the second for each column."""
    rows, columns = len(call.input(0).shape) - 2, len(call.input(3).shape) - 1
    inputs = [real_input(call, 0, earlier, max(rows, 0)), real_input(call, 3, earlier, columns)]
    real = inner(call, earlier["MatMul"], "MatMul", inputs, {}, "real")
    stored_output(call, real, 6, earlier)


def _gemm(call: Call, earlier: Translators) -> None:
    """QGemm: alpha * A' * B' + C, with C in units of alpha * A scale * B scale; float32 without an output scale."""
    transposed = bool(call.attribute("transB", 0))
    alpha = float(call.attribute("alpha", 1.0))
    inputs = [real_input(call, 0, earlier), real_input(call, 3, earlier, 0 if transposed else 1)]
    if call.has(6):
        columns = call.input(3).shape[0 if transposed else 1]
        inputs.append(_real_bias(call, 6, (1, 4), 1.0, earlier, columns))
    quantized = call.has(7)
    # alpha applies to C as well, so it may stand behind the sum.
    part = "real" if quantized or alpha != 1.0 else ""
    attributes = {"transA": int(call.attribute("transA", 0)), "transB": int(transposed)}
    real = inner(call, earlier["Gemm"], "Gemm", inputs, attributes, part)
    if alpha != 1.0:
        factor = call.literal(np.asarray(alpha, np.float32), f"{call.node.outputs[0]}/alpha")
        real = inner(call, earlier["Mul"], "Mul", [real, factor], {}, "scaled" if quantized else "")
    if quantized:
        stored_output(call, real, 7, earlier, call.input(0).dtype)


def _unary(name: str, translate: Translate, earlier: Translators) -> Translate:
    """QLinear<operator>(x, x scale, x zero point, y scale, y zero point)."""

    def lowered(call: Call) -> None:
        real = inner(call, translate, name[7:], [real_input(call, 0, earlier)], call.node.attributes, "real")
        stored_output(call, real, 3, earlier, call.input(0).dtype)

    return lowered


def _binary(name: str, earlier: Translators) -> Translate:
    """QLinear<operator>(a, a scale, a zero point, b, ..., y scale, y zero point)."""

    def lowered(call: Call) -> None:
        real = inner(call, earlier[name], name, [real_input(call, at, earlier) for at in (0, 3)], {}, "real")
        stored_output(call, real, 6, earlier, call.input(0).dtype)

    return lowered


def _where(call: Call, earlier: Translators) -> None:
    """QLinearWhere(condition, x, x scale, x zero point, y, ..., z scale, z zero point)."""
    inputs = [call.input(0).name, *(real_input(call, at, earlier) for at in (1, 4))]
    real = inner(call, earlier["Where"], "Where", inputs, {}, "real")
    stored_output(call, real, 7, earlier, call.input(1).dtype)


def _concat(call: Call, earlier: Translators) -> None:
    """QLinearConcat(y scale, y zero point, then three inputs for each part)."""
    if len(call.node.inputs) < 5 or (len(call.node.inputs) - 2) % 3:
        raise Unsupported(f"{len(call.node.inputs)} inputs", "two for the output and three for each part")
    inputs = [real_input(call, at, earlier) for at in range(2, len(call.node.inputs), 3)]
    real = inner(call, earlier["Concat"], "Concat", inputs, call.node.attributes, "real")
    stored_output(call, real, 0, earlier, call.input(2).dtype)


def _quantized_softmax(call: Call, earlier: Translators) -> None:
    """QLinearSoftmax(x, x scale, x zero point, y scale, y zero point), as the opset in the node's attribute has it.

    One unit of y is 1 / floor(1 / y scale): ONNX Runtime's kernel multiplies by a whole number.
    """
    opset = int(call.attribute("opset", call.build.opset))

    def softmax(inner_call: Call) -> None:
        earlier["Softmax"](Call(inner_call.node, replace(inner_call.build, opset=opset)))

    real = inner(call, softmax, "Softmax", [real_input(call, 0, earlier)], call.node.attributes, "real")
    scale = call.known(3)
    if scale is not None and scale.size == 1 and 0.0 < float(scale.reshape(-1)[0]) <= 1.0:
        whole = np.floor(np.float32(1.0) / scale.astype(np.float32).reshape(()))
        name = call.literal((np.float32(1.0) / whole).astype(np.float32), f"{call.node.outputs[0]}/unit")
        inputs = (*call.node.inputs[:3], name, *call.node.inputs[4:])
        call = Call(replace(call.node, inputs=inputs), call.build)
    stored_output(call, real, 3, earlier, call.input(0).dtype)
    output = call.build.tensors[call.node.outputs[0]]
    if scale is not None and scale.size == 1 and output.quantization is not None:
        meaning = replace(output.quantization, scale=(float(scale.reshape(-1)[0]),))
        call.build.tensors[output.name] = replace(output, quantization=meaning)


def _over_whole_windows(pool: Translate) -> Translate:
    """Average pooling that counts all taps of windows with pads, also those behind the end padding with ceil_mode.

    So does ONNX Runtime, though not where its quantiser leaves AveragePool.
    """

    def translate(call: Call) -> None:
        if not (call.attribute("ceil_mode", 0) and call.attribute("count_include_pad", 0)):
            pool(call)
            return
        extents = call.input(0).shape[2:]
        windows, outputs = windows_of_call(call, extents, call.geometry("kernel_shape", ()))
        begins, ends = windows.pads[: len(extents)], windows.pads[len(extents) :]
        strides, reaches = windows.strides, windows.reach
        wanted = (
            max(end, (output - 1) * stride + reach - extent - begin)
            for output, stride, reach, extent, begin, end in zip(
                outputs, strides, reaches, extents, begins, ends, strict=True
            )
        )
        given = {**call.node.attributes, "pads": [*begins, *wanted], "ceil_mode": 0, "auto_pad": "NOTSET"}
        pool(Call(replace(call.node, attributes=given), call.build))

    return translate


def _channels(pool: Translate) -> Translate:
    """Pooling of tensors whose channels may stand last (attribute channels_last)."""

    def translate(call: Call) -> None:
        if not call.attribute("channels_last", 0):
            pool(call)
            return
        x = call.input(0)
        rank = len(x.shape)
        first = (0, rank - 1, *range(1, rank - 1))
        moved = call.emit("Transpose", [x.name], [x.shape[a] for a in first], {"perm": first}, part="channels_first")
        pooled = inner(call, pool, call.node.operator, [moved], call.node.attributes, "pooled")
        shape = call.build.tensor(pooled).shape
        last = (0, *range(2, rank), 1)
        call.emit("Transpose", [pooled], [shape[axis] for axis in last], {"perm": last})

    return translate
