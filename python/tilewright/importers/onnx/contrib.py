"""Float operators of com.microsoft that onnxruntime's optimiser writes, as the ONNX operators that they consist of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.importers.construction import Unsupported, broadcast
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.normalization import normalized
from tilewright.importers.onnx.source import SourceNode
from tilewright.importers.qoperator.nodes import Translators, inner

Translate = Callable[[Call], None]
_UINT8 = 2
"""ONNX's number of the element type."""
_OFFSETS = {"a_zero_point": 0, "b_zero_point": 0}


def bias_gelu(call: Call) -> None:
    """BiasGelu: Gelu(a + b)."""
    _gelu_of_sum(call, by_tanh=False)


def fast_gelu(call: Call) -> None:
    """FastGelu: Gelu by tanh of x, or of x + bias."""
    _gelu_of_sum(call, by_tanh=True)


def _gelu_of_sum(call: Call, *, by_tanh: bool) -> None:
    x = call.real(0)
    name, shape = x.name, x.shape
    if call.has(1):
        bias = call.real(1)
        shape = broadcast(shape, bias.shape)
        name = call.emit("Add", [name, bias.name], shape, _OFFSETS, part="biased")
    call.emit("Gelu", [name], shape, {"by_tanh": by_tanh})


def quick_gelu(call: Call) -> None:
    """QuickGelu: x * sigmoid(alpha * x)."""
    x = call.real(0)
    call.emit("Swish", [x.name], x.shape, {"alpha": float(call.attribute("alpha", 1.702))})


def skip_layer_normalization(call: Call) -> None:
    """SkipLayerNormalization(input, skip, gamma, beta, bias): the norm of input + skip + bias; the sum is output 3."""
    _skip(call, "LayerNormalization", (2, 3), 4)


def skip_simplified_layer_normalization(call: Call) -> None:
    """SkipSimplifiedLayerNormalization(input, skip, gamma, bias): likewise with RMSNormalization."""
    _skip(call, "RMSNormalization", (2, None), 3)


def _skip(call: Call, operator: str, parameters: tuple[int, int | None], bias: int) -> None:
    outputs = [*call.node.outputs, "", "", ""][:4]
    if outputs[1] or outputs[2]:
        raise Unsupported("outputs of statistics (mean, inv_std_var)", "leave them out")
    x, skip = call.real(0), call.real(1)
    if broadcast(x.shape, skip.shape) != x.shape or not x.shape:
        raise Unsupported(f"skip of shape {list(skip.shape)} for input of shape {list(x.shape)}")
    asked = bool(outputs[3])
    addends = [skip.name, *([call.real(bias).name] if call.has(bias) else [])]
    total = x.name
    for number, name in enumerate(addends, start=1):
        last = number == len(addends)
        part = "" if last and asked else "sum"
        total = call.emit("Add", [total, name], x.shape, _OFFSETS, part=part, output=3 if last and asked else 0)
    scale, shift = (call.node.inputs[at] if at is not None and call.has(at) else "" for at in parameters)
    epsilon = float(call.attribute("epsilon", 1e-12))
    normalized(call, operator, total, (scale, shift), len(x.shape) - 1, epsilon)


def _matmul_integer_to_float(call: Call, earlier: Translators) -> None:
    """MatMulIntegerToFloat(a, b, a scale, b scale, a zero point, b zero point, bias)."""
    names = [call.node.inputs[at] if call.has(at) else "" for at in range(7)]
    _scaled_product(call, earlier, (names[0], names[2], names[4]), (names[1], names[3], names[5]), names[6])


def _dynamic_quantize_matmul(call: Call, earlier: Translators) -> None:
    """DynamicQuantizeMatMul(a, b, b scale, b zero point, bias): a in steps of its own range / 255."""
    names = [call.node.inputs[at] if call.has(at) else "" for at in range(5)]
    base = call.node.outputs[0]

    def step(operator: str, *inputs: str, **attributes: Any) -> str:
        return inner(call, earlier[operator], operator, inputs, attributes, f"a/{operator}")

    zero, levels = (call.literal(np.asarray(v, np.float32), f"{base}/{v}") for v in (0.0, 255.0))
    low = step("Min", step("ReduceMin", names[0], keepdims=0), zero)
    scale = step("Div", step("Sub", step("Max", step("ReduceMax", names[0], keepdims=0), zero), low), levels)
    begin = step("Clip", step("Round", step("Div", step("Neg", low), scale)), zero, levels)
    point = step("Cast", begin, to=_UINT8)
    stored = step("QuantizeLinear", names[0], scale, point)
    _scaled_product(call, earlier, (stored, scale, point), (names[1], names[2], names[3]), names[4])


def _dynamic_quantize_lstm(call: Call, earlier: Translators) -> None:
    """DynamicQuantizeLSTM: LSTM with the weights that are stored as 8 bits; activations stay float32."""
    weights = [_recurrent_weights(call, at, scale_at) for at, scale_at in ((1, 8), (2, 10))]
    others = [call.node.inputs[at] if call.has(at) else "" for at in range(3, 8)]
    inputs = (call.operand(0), *weights, *others)
    node = SourceNode(call.node.name, "LSTM", "", inputs, call.node.outputs, call.node.attributes)
    earlier["LSTM"](Call(node, call.build))


def _recurrent_weights(call: Call, index: int, scale_at: int) -> str:
    """Weights [directions, inputs, gates] as LSTM has them: real, [directions, gates, inputs]."""
    stored = call.constant(index, "the weights").astype(np.float32)
    values = [
        call.constant(scale_at + more, what).astype(np.float32) for more, what in enumerate(("scales", "zero points"))
    ]
    columns = [(stored.shape[0],), (stored.shape[0], stored.shape[2])] if stored.ndim == 3 else []
    if any(array.shape not in columns for array in values):
        raise Unsupported(f"scales of shape {list(values[0].shape)} for weights of shape {list(stored.shape)}")
    scale, point = (array.reshape(stored.shape[0], 1, -1) for array in values)
    real = (stored - point) * scale
    return call.literal(np.ascontiguousarray(real.transpose(0, 2, 1)), f"{call.node.inputs[index]}/real")


def _scaled_product(
    call: Call, earlier: Translators, a: tuple[str, str, str], b: tuple[str, str, str], bias: str
) -> None:
    """The product of two dequantised matrices, each (stored, scale, zero point), and a bias."""
    factors = []
    for word, (stored, scale, point) in (("a", a), ("b", b)):
        along = call.build.tensor(scale).elements > 1
        attributes = {"axis": len(call.build.tensor(stored).shape) - 1} if along else {}
        if along and word == "a":
            raise Unsupported("a scale for each column of the first matrix", "use one")
        names = [stored, scale, point] if point else [stored, scale]
        factors.append(inner(call, earlier["DequantizeLinear"], "DequantizeLinear", names, attributes, f"real_{word}"))
    product = inner(call, earlier["MatMul"], "MatMul", factors, {}, "product" if bias else "")
    if bias:
        inner(call, earlier["Add"], "Add", [product, bias], {}, "")


def contrib(earlier: Translators) -> Translators:
    """Translators by operator; ``earlier`` has those of the ONNX operators."""
    return {
        **CONTRIB,
        "MatMulIntegerToFloat": lambda call: _matmul_integer_to_float(call, earlier),
        "DynamicQuantizeLSTM": lambda call: _dynamic_quantize_lstm(call, earlier),
        "DynamicQuantizeMatMul": lambda call: _dynamic_quantize_matmul(call, earlier),
    }


CONTRIB: Mapping[str, Translate] = MappingProxyType(
    {
        "BiasGelu": bias_gelu,
        "FastGelu": fast_gelu,
        "QuickGelu": quick_gelu,
        "SkipLayerNormalization": skip_layer_normalization,
        "SkipSimplifiedLayerNormalization": skip_simplified_layer_normalization,
    }
)
