"""Normalisations: over the last axes as one operator, others that have no function body as smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.graph import DType, Tensor
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.elementwise import typed

Translate = Callable[[Call], None]

_FLOAT = frozenset({DType.FLOAT32})
_OFFSETS: Mapping[str, int] = MappingProxyType({"a_zero_point": 0, "b_zero_point": 0})


def instance_normalization(call: Call) -> None:
    """(x - mean) / sqrt(variance + epsilon) * scale + B, the statistics over each channel's positions."""
    x = typed(call, 0, _FLOAT)
    if len(x.shape) < 3:
        raise Unsupported(f"input of shape {list(x.shape)}")
    _normalized_groups(call, x, x.shape[1])


def group_normalization(call: Call) -> None:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, the statistics over each group of channels.

    Before opset 21 scale and bias have a value for each group, later one for each channel.
    """
    x = typed(call, 0, _FLOAT)
    groups = int(call.attribute("num_groups", 0))
    if len(x.shape) < 2 or groups < 1 or x.shape[1] % groups:
        raise Unsupported(f"{groups} groups of input of shape {list(x.shape)}")
    _normalized_groups(call, x, groups)


def _normalized_groups(call: Call, x: Tensor, groups: int) -> None:
    rank, channels = len(x.shape), x.shape[1]
    lines = (x.shape[0], groups, x.elements // (x.shape[0] * groups))
    one = call.literal(np.ones(1, np.float32), f"{call.node.outputs[0]}/one")
    rows = call.emit("Reshape", [x.name], lines, part="rows")
    epsilon = {"epsilon": float(call.attribute("epsilon", 1e-5))}
    normal = call.emit("LayerNormalization", [rows, one], lines, epsilon, part="normal")
    shaped = call.emit("Reshape", [normal], x.shape, part="shaped")
    column = (channels, *(1,) * (rank - 2))
    factors, offsets = (_column(call, index, word, column) for index, word in ((1, "scale"), (2, "offset")))
    scaled = call.emit("Mul", [shaped, factors], x.shape, _OFFSETS, part="scaled")
    call.emit("Add", [scaled, offsets], x.shape, _OFFSETS)


def _column(call: Call, index: int, word: str, column: tuple[int, ...]) -> str:
    """A parameter along the channels; one with a value for each group is repeated for the channels of a group."""
    values = typed(call, index, _FLOAT)
    if len(values.shape) != 1 or column[0] % values.elements:
        raise Unsupported(f"a parameter of shape {list(values.shape)} for {column[0]} channels")
    name = values.name
    if values.elements != column[0]:
        repeated = (values.elements, column[0] // values.elements)
        row = call.emit("Reshape", [name], (values.elements, 1), part=f"{word} of groups")
        name = call.emit("Expand", [row], repeated, part=f"{word} repeated")
    return call.emit("Reshape", [name], column, part=word)


def local_response(call: Call) -> None:
    """LRN: x / (bias + alpha / size * sum of squares over ``size`` neighbouring channels) ^ beta.

    The sums are averages under windows along the channels, padding counted as zeros.
    """
    x = typed(call, 0, _FLOAT)
    size = int(call.attribute("size", 0))
    if len(x.shape) < 2 or size < 1:
        raise Unsupported(f"size {size} of {list(x.shape)}")
    base = call.node.outputs[0]
    image = (x.shape[0], 1, x.shape[1], prod(x.shape[2:]))
    squares = call.emit("Mul", [x.name, x.name], x.shape, _OFFSETS, part="squares")
    rows = call.emit("Reshape", [squares], image, part="rows")
    window = {
        "kernel": (size, 1),
        "strides": (1, 1),
        "dilations": (1, 1),
        "pads": ((size - 1) // 2, 0, size // 2, 0),
        "count_include_pad": 1,
        "x_zero_point": 0,
    }
    average = call.emit("AveragePool", [rows], image, window, part="average")
    spread = call.emit("Reshape", [average], x.shape, part="spread")
    alpha, bias, beta = (
        call.literal(np.float32(call.attribute(name, default)).reshape(()), f"{base}/{name}")
        for name, default in (("alpha", 1e-4), ("bias", 1.0), ("beta", 0.75))
    )
    scaled = call.emit("Mul", [spread, alpha], x.shape, _OFFSETS, part="scaled")
    raised = call.emit("Add", [scaled, bias], x.shape, _OFFSETS, part="raised")
    power = call.emit("Pow", [raised, beta], x.shape, part="power")
    call.emit("Div", [x.name, power], x.shape)


def layer_normalization(call: Call) -> None:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over the axes from ``axis`` on, in any opset."""
    x = typed(call, 0, _FLOAT)
    axis = call.axis(int(call.attribute("axis", -1)), len(x.shape))
    epsilon = float(call.attribute("epsilon", 1e-5))
    bias = call.node.inputs[2] if call.has(2) else ""
    normalized(call, "LayerNormalization", x.name, (call.operand(1), bias), axis, epsilon)
    _statistics(call, x, axis, epsilon)


def rms_normalization(call: Call) -> None:
    """x / sqrt(mean of squares + epsilon) * scale over the axes from ``axis`` on.

    Deeploy's RMSNorm, which writes ``eps`` (1e-6 where it does not), normalises the axes that the scale has.
    """
    x = typed(call, 0, _FLOAT)
    of_deeploy = call.node.operator == "RMSNorm"
    default = -max(len(call.input(1).shape), 1) if of_deeploy else -1
    axis = call.axis(int(call.attribute("axis", default)), len(x.shape))
    epsilon = float(call.attribute("eps", 1e-6) if of_deeploy else call.attribute("epsilon", 1e-5))
    if any(call.node.outputs[1:]):
        raise Unsupported("a second output", "leave out the deviation")
    normalized(call, "RMSNormalization", x.name, (call.operand(1), ""), axis, epsilon)


def normalized(
    call: Call, operator: str, x: str, parameters: tuple[str, str], axis: int, epsilon: float, output: int = 0
) -> str:
    """Emit a normalisation of x over the axes from ``axis`` on, with the names of scale and bias ("" for none)."""
    shape = call.build.tensor(x).shape
    lines = (*shape[:axis], prod(shape[axis:]))
    scale, bias = (_line(call, name, shape, axis) for name in parameters)
    behind = [("Add", parameters[1])] if bias is None else []
    if scale is None:
        behind = [("Mul", parameters[0]), *([("Add", parameters[1])] if parameters[1] else [])]
        scale, bias = call.literal(np.ones(1, np.float32), f"{call.node.outputs[output]}/one"), None
    inputs = [x if lines == shape else call.emit("Reshape", [x], lines, part="rows"), scale, *([bias] if bias else [])]
    attributes = {"epsilon": epsilon}
    if lines == shape:
        name = call.emit(operator, inputs, shape, attributes, part="normal" if behind else "", output=output)
    else:
        normal = call.emit(operator, inputs, lines, attributes, part="normal", output=output)
        name = call.emit("Reshape", [normal], shape, part="shaped" if behind else "", output=output)
    for number, (step, parameter) in enumerate(behind, start=1):
        part = "" if number == len(behind) else "scaled"
        name = call.emit(step, [name, parameter], shape, _OFFSETS, part=part, output=output)
    return name


def _line(call: Call, name: str, shape: tuple[int, ...], axis: int) -> str | None:
    """The parameter as one axis, as long as the normalised axes together or 1; None if it follows other axes."""
    if not name:
        return ""
    tensor = call.build.tensor(name)
    if tensor.dtype is not DType.FLOAT32:
        raise Unsupported(f"a parameter of type {tensor.dtype.value}", "use float32")
    own = (1,) * (len(shape) - len(tensor.shape)) + tensor.shape
    if prod(own[:axis]) != 1 or prod(own[axis:]) not in (1, prod(shape[axis:])):
        return None
    if len(tensor.shape) == 1:
        return name
    known = call.build.constants.get(name)
    if known is not None:
        return call.literal(known.reshape(-1), f"{name}/line")
    return call.emit("Reshape", [name], (tensor.elements,), part=f"line of {name}")


def _statistics(call: Call, x: Tensor, axis: int, epsilon: float) -> None:
    """The optional outputs of LayerNormalization: the mean and 1 / sqrt(variance + epsilon)."""
    if not any(call.node.outputs[1:]):
        return
    axes = tuple(range(axis, len(x.shape)))
    narrow = (*x.shape[:axis], *(1,) * len(axes))
    reduction = {"axes": axes, "keepdims": True}
    given = [*call.node.outputs, "", ""]
    asked = bool(given[1])
    mean = call.emit("ReduceMean", [x.name], narrow, reduction, part="" if asked else "mean", output=1 if asked else 0)
    if not given[2]:
        return
    offset = call.literal(np.float32(epsilon).reshape(()), f"{call.node.outputs[0]}/epsilon")
    centred = call.emit("Sub", [x.name, mean], x.shape, _OFFSETS, part="centred")
    squares = call.emit("Mul", [centred, centred], x.shape, _OFFSETS, part="squares")
    variance = call.emit("ReduceMean", [squares], narrow, reduction, part="variance")
    raised = call.emit("Add", [variance, offset], narrow, _OFFSETS, part="raised")
    deviation = call.emit("Sqrt", [raised], narrow, part="deviation")
    call.emit("Reciprocal", [deviation], narrow, output=2)


def batch_normalization(call: Call, constants: Translate) -> None:
    """scale * (x - mean) / sqrt(var + epsilon) + B. With constant parameters it becomes Mul and Add."""
    names = ("scale", "B", "mean", "variance")
    inference = not call.attribute("training_mode", 0) and not any(call.node.outputs[1:])
    if not inference or all(call.known(index) is not None for index in range(1, 5)):
        constants(call)
        return
    x = typed(call, 0, _FLOAT)
    channels = x.shape[1] if len(x.shape) > 1 else 1
    column = (channels, *(1,) * max(len(x.shape) - 2, 0))
    if any(call.input(index).elements != channels for index in range(1, 5)):
        raise Unsupported(f"statistics do not have {channels} channels")
    scale, shift, mean, variance = (
        call.emit("Reshape", [typed(call, index, _FLOAT).name], column, part=f"{word}_column")
        for index, word in enumerate(names, start=1)
    )
    epsilon = call.literal(np.float32(call.attribute("epsilon", 1e-5)).reshape(()), f"{call.node.outputs[0]}/epsilon")
    raised = call.emit("Add", [variance, epsilon], column, _OFFSETS, part="raised")
    deviation = call.emit("Sqrt", [raised], column, part="deviation")
    factor = call.emit("Div", [scale, deviation], column, part="factor")
    centred = call.emit("Sub", [x.name, mean], x.shape, _OFFSETS, part="centred")
    scaled = call.emit("Mul", [centred, factor], x.shape, _OFFSETS, part="scaled")
    call.emit("Add", [scaled, shift], x.shape, _OFFSETS)


NORMALIZATION: Mapping[str, Translate] = MappingProxyType(
    {
        "InstanceNormalization": instance_normalization,
        "GroupNormalization": group_normalization,
        "LRN": local_response,
        "LayerNormalization": layer_normalization,
        "RMSNormalization": rms_normalization,
        "RMSNorm": rms_normalization,
        "SimplifiedLayerNormalization": rms_normalization,
    }
)
